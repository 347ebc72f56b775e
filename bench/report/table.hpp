// The report as text, for people.
#pragma once

#include <string>

#include "bench/harness/measure.hpp"

namespace paraes::bench {

// Rows sorted by scope, size and job, the fastest of a job first, with the speed relative to each
// rival that ran. A line above has the axes that all rows share. Where the table would be wider
// than 100 columns, it leaves out ratios, all but those to the first rival.
[[nodiscard]] std::string table(const Outcome& outcome);

// The rows that a plan would measure, and those that it skips.
[[nodiscard]] std::string listing(const BenchPlan& plan);

// "16 KiB", "1 MiB", "1000 B".
[[nodiscard]] std::string size_text(std::uint64_t bytes);

}  // namespace paraes::bench
