// Benchmarks in file scope, on all ranks.
#pragma once

#include <memory>
#include <optional>

#include "bench/file/workspace.hpp"
#include "bench/harness/case.hpp"
#include "mpi/ranks.hpp"
#include "mpi/root.hpp"

namespace paraes::mpi {

// A file of the default format, from file to file in this job: by all ranks, or without a
// distribution by rank 0 alone.
[[nodiscard]] std::unique_ptr<bench::Case> make_file_on_ranks(
    bench::Row row, const Ranks& ranks, std::optional<Distribution> distribution,
    std::shared_ptr<bench::Workspace> workspace);

}  // namespace paraes::mpi
