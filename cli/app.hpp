// The main function that the executables paraes and paraes-mpi share.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/cli11_fwd.hpp"

namespace paraes::cli {

// One of the functions of verbs.hpp: adds the verb `name`, whose callback stores the exit status in
// `status`.
struct VerbEntry {
  std::string name;
  std::function<void(CLI::App& app, int& status)> add;
};

struct ExecutableInfo {
  std::string name;
  std::string summary;           // the first line of --help
  std::string footer;            // the last lines of --help
  std::vector<VerbEntry> verbs;  // in the order of --help
};

// Calls `run` as the main function does: prints its errors and returns the exit status.
[[nodiscard]] int run_guarded(const std::function<int()>& run);

// Parses the flags, runs the verb, prints errors and returns the exit status.
[[nodiscard]] int run_app(int argc, char** argv, const ExecutableInfo& executable);

}  // namespace paraes::cli
