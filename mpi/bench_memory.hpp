// Rows of memory scope over ranks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "bench/harness/case.hpp"
#include "bench/memory/arena.hpp"
#include "bench/memory/job.hpp"
#include "mpi/ranks.hpp"

namespace paraes::mpi {

// A row, as rank 0 describes it to the others.
struct Measurement {
  bench::Job job;  // of all ranks together, each with job.threads
  std::string kernel;
  bool scatters = false;
  // Of rank 0's buffers, for the ranks on its host; set when the row is set up.
  std::string in_path;
  std::string out_path;
};

// `session` tells rows apart that are there at a time.
[[nodiscard]] std::unique_ptr<bench::Case> make_memory_on_ranks(
    bench::Row row, const Ranks& ranks, Measurement measurement, int session,
    std::shared_ptr<bench::Arena> arena);

// The job by rank 0 alone, with job.threads.
[[nodiscard]] std::unique_ptr<bench::Case> make_memory_alone(bench::Row row, const bench::Job& job,
                                                             std::shared_ptr<bench::Arena> arena);

// Another rank's part in the row of a session, until rank 0 ends it. A rank with `trouble` takes no
// part: rank 0 learns why and skips the row.
void serve_measurement(const Ranks& ranks, int session, const std::string& trouble);

}  // namespace paraes::mpi
