// Benchmarks in file scope, on all ranks.
#pragma once

#include <memory>
#include <optional>

#include "bench/file/workspace.hpp"
#include "bench/harness/case.hpp"
#include "mpi/ranks.hpp"
#include "mpi/root.hpp"

namespace paraes::mpi {

// Encrypts or decrypts a file of the default format, on all ranks; without a distribution, on rank
// 0 alone.
[[nodiscard]] std::unique_ptr<bench::Case> make_file_on_ranks(
    bench::Row row, const Ranks& ranks, std::optional<Distribution> distribution,
    std::shared_ptr<bench::Workspace> workspace);

}  // namespace paraes::mpi
