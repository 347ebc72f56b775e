// The report that people read.
#pragma once

#include <string>

#include "bench/harness/measure.hpp"

namespace paraes::bench {

// At most 100 columns: rows sorted by scope, size and mode, fastest first within one job, with
// ratios to each rival that ran. What all rows share stands in a line above.
[[nodiscard]] std::string table(const Outcome& outcome);

// The rows that a plan would run, and those that it skips.
[[nodiscard]] std::string listing(const BenchPlan& plan);

// "16 KiB", "1 MiB", "1000 B".
[[nodiscard]] std::string size_text(std::uint64_t bytes);

}  // namespace paraes::bench
