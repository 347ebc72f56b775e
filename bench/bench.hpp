// Runs a plan and reports the results.
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
  std::string machine;  // the user's name for it, for the report; valid UTF-8, or empty
  std::string json;     // a file, or `-` for standard output; empty for none
};

// The axes and options of --quick: a short table for every kernel, in seconds.
void make_quick(AxisTexts& texts, Options& options);

// Runs the plan, or only lists it if options.list is set. The table goes to `out`, or to `err` when
// JSON goes to standard output; progress goes to `err` if that is a terminal. Returns the exit
// status: 1 if a row is wrong or none could run, 128 + the number of the signal that ended the run,
// else 0. Throws InvalidArgument if options.json names a file that is not a report, and IoError if
// the report cannot be written.
[[nodiscard]] int run(const BenchPlan& plan, const Options& options, std::FILE* out,
                      std::FILE* err);

}  // namespace paraes::bench
