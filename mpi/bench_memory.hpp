// Benchmarks in memory scope, on all ranks.
#pragma once

#include <memory>
#include <string>

#include "bench/harness/case.hpp"
#include "bench/memory/arena.hpp"
#include "bench/memory/job.hpp"
#include "mpi/ranks.hpp"

namespace paraes::mpi {

// A row on all ranks together, each with job.threads threads; rank 0 sends the data if `scatters`.
// `session` must differ between rows that are set up at the same time.
[[nodiscard]] std::unique_ptr<bench::Case> make_memory_on_ranks(
    bench::Row row, const Ranks& ranks, const bench::Job& job, bool scatters, int session,
    std::shared_ptr<bench::Arena> arena);

// A row on rank 0 alone, with job.threads threads.
[[nodiscard]] std::unique_ptr<bench::Case> make_memory_alone(bench::Row row, const bench::Job& job,
                                                             std::shared_ptr<bench::Arena> arena);

// Runs the row of a session on a rank other than 0, until rank 0 ends the session. If
// `error_text` is not empty, the rank only sends it to rank 0, which then skips the row.
void measure_on_worker(const Ranks& ranks, int session, const std::string& error_text);

}  // namespace paraes::mpi
