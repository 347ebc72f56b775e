// Runs other programs as child processes.
#pragma once

#include <string>
#include <vector>

namespace paraes::bench {

struct ChildResult {
  int status = 0;      // exit status, or 128 + the signal that ended it
  std::string output;  // standard output and error, the first 4 KiB
};

// Runs argv[0] (a path) to its end, with standard input from /dev/null. Throws IoError if it cannot
// be started. If a signal was noted meanwhile (bench/harness/noted_signals.hpp), terminates the
// child and throws Interrupted.
[[nodiscard]] ChildResult run_child(const std::vector<std::string>& argv);

// The first line that the program `argv` prints; empty if it fails.
[[nodiscard]] std::string first_line_of(const std::vector<std::string>& argv);

}  // namespace paraes::bench
