// The main function that the executables paraes and paraes-mpi share.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/arguments/arguments.hpp"
#include "cli/arguments/cli11_fwd.hpp"

namespace paraes::cli {

// One of the functions of verbs.hpp: adds the verb `name`, with at least the flags in `named`. Its
// callback stores the exit status in `status`.
struct VerbEntry {
  std::string name;
  std::function<void(CLI::App& app, int& status, const NamedFlags& named)> add;
  bool has_secrets = true;  // it may handle keys or passphrases
};

struct ExecutableInfo {
  std::string name;
  std::string summary;           // the first line of --help
  std::string footer;            // the last lines of --help
  std::vector<VerbEntry> verbs;  // in the order of --help
  // Whether it forbids all core dumps before a verb that has secrets, and other processes of the
  // same user to read its memory. Not with MPI: ranks on one host copy messages from each other's.
  bool hides_memory = true;
};

// The parser with all verbs and their flags. `status` is where the callback of a verb stores the
// exit status.
[[nodiscard]] std::unique_ptr<CLI::App> make_app(const ExecutableInfo& executable, int& status);

// All that a main function does: calls `run`, prints its errors and returns the exit status. Memory
// may run out in `run`, but not where it is made: a function object of up to 16 bytes needs none.
[[nodiscard]] int run_guarded(const std::function<int()>& run);

// Parses the flags, runs the verb and returns the exit status. For run_guarded: throws errors.
[[nodiscard]] int run_app(int argc, char** argv, const ExecutableInfo& executable);

}  // namespace paraes::cli
