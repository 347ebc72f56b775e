// Benchmarks in memory scope, on all ranks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "bench/harness/case.hpp"
#include "bench/memory/arena.hpp"
#include "bench/memory/job.hpp"
#include "mpi/ranks.hpp"
#include "paraes/io.hpp"

namespace paraes::mpi {

// A row, as rank 0 describes it to the others.
struct Measurement {
  bench::Job job;  // of all ranks together, each with job.threads
  std::string kernel;
  bool scatters = false;
  // Rank 0's buffers, for the ranks on its host; known once the row is set up.
  struct Shared {
    std::string path;
    FileId id;
  };
  Shared in;
  Shared out;
};

// A row on all ranks. `session` must differ between rows that are set up at the same time.
[[nodiscard]] std::unique_ptr<bench::Case> make_memory_on_ranks(
    bench::Row row, const Ranks& ranks, Measurement measurement, int session,
    std::shared_ptr<bench::Arena> arena);

// A row on rank 0 alone, with job.threads threads.
[[nodiscard]] std::unique_ptr<bench::Case> make_memory_alone(bench::Row row, const bench::Job& job,
                                                             std::shared_ptr<bench::Arena> arena);

// Runs the row of a session on a rank other than 0, until rank 0 ends the session. If
// `error_text` is not empty, the rank only sends it to rank 0, which then skips the row.
void measure_on_worker(const Ranks& ranks, int session, const std::string& error_text);

}  // namespace paraes::mpi
