// What the programs of the command line have in common: paraes, and paraes-mpi.
#pragma once

#include <functional>
#include <string>

#include "cli/cli11_fwd.hpp"

namespace paraes::cli {

struct ProgramInfo {
  std::string name;
  std::string what;    // a sentence for --help
  std::string footer;  // its end
  // Adds the verbs, whose callbacks leave the exit status in `status`.
  std::function<void(CLI::App& app, int& status)> add_verbs;
};

// Parses the flags, runs the verb and returns the exit status; prints what goes wrong.
[[nodiscard]] int run_app(int argc, char** argv, const ProgramInfo& program);

}  // namespace paraes::cli
