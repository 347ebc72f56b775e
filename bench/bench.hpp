// From a plan to a report.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "bench/axes.hpp"
#include "bench/harness/measure.hpp"
#include "bench/suites/suites.hpp"

namespace paraes::bench {

struct Options {
  Settings settings;
  std::uint64_t seed = 0;
  bool list = false;
  std::string json;  // a file, or `-` for standard output; empty: none
};

// The axes and options of --quick: a short table for every kernel, in seconds.
void make_quick(AxisTexts& texts, Options& options);

// Runs the plan; the table goes to `out`, or to `err` when JSON goes to standard output, and
// progress to `err` when that is a terminal. Returns the exit status: 1 when a row is wrong or
// none ran, 128 + the
// number of a signal that ended it, else 0. Throws IoError when the report cannot be written.
[[nodiscard]] int run(const BenchPlan& plan, const Options& options, std::FILE* out,
                      std::FILE* err);

}  // namespace paraes::bench
