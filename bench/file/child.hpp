// Whole programs as children.
#pragma once

#include <string>
#include <vector>

namespace paraes::bench {

struct ChildResult {
  int status = 0;      // exit status, or 128 + the signal that ended it
  std::string output;  // standard output and error, the first 4 KiB
};

// Runs argv[0] (a path) to its end with nothing on standard input. Throws IoError when it cannot be
// started, and Interrupted after a signal (see bench/harness/signals.hpp); the child is ended then.
[[nodiscard]] ChildResult run_child(const std::vector<std::string>& argv);

// Full path of a program on PATH; empty if there is none.
[[nodiscard]] std::string find_program(const std::string& name);

// First line that `argv` prints; empty if it fails.
[[nodiscard]] std::string first_line_of(const std::vector<std::string>& argv);

}  // namespace paraes::bench
