// The verbs of the command line. Each function adds one subcommand to `app`. Its callback does the
// work and stores the exit status (see report.hpp) in `status`, or throws paraes::Error, which
// run_app reports. The verbs with the most flags add only those in `named`.
#pragma once

#include <functional>
#include <string>

#include "bench/bench.hpp"
#include "cli/arguments/arguments.hpp"
#include "cli/arguments/cli11_fwd.hpp"
#include "cli/arguments/options.hpp"
#include "cli/verbs/app.hpp"

namespace paraes::cli {

// Another executable replaces these parts of a verb: paraes-mpi has the verbs of paraes, and this
// library must not know MPI.
template <class Run>
struct Overrides {
  std::function<void(CLI::App& verb)> add_options;  // empty: no more flags
  std::function<Run> run;  // returns the exit status; empty: as paraes does
  // The end of --help, with a line "Examples:"; empty: the examples of paraes.
  std::string examples;
};
using CryptOverrides = Overrides<int(const CryptOptions& options)>;
using BenchOverrides = Overrides<int(const bench::Axes& axes, const bench::Options& options)>;

// `verb`: any but info.
void add_crypt(CLI::App& app, int& status, const NamedFlags& named, Verb verb,
               const CryptOverrides& overrides);
void add_info(CLI::App& app, int& status, const NamedFlags& named);
void add_keygen(CLI::App& app, int& status);
void add_devices(CLI::App& app, int& status);

void add_bench(CLI::App& app, int& status, const BenchOverrides& overrides);
// The group of the flags of bench that are axes.
inline constexpr const char* bench_axes_group =
    "Axes (comma lists; bench measures every combination, and `all` stands for every value)";

void add_tune(CLI::App& app, int& status);

// paraes-lab parses the flags and verbs of lab: add_lab only lists lab in the help. If the first
// argument is lab, main calls run_lab with the arguments after it, up to a null pointer. run_lab
// returns, with the exit status, only if paraes-lab cannot be run.
void add_lab(CLI::App& app);
[[nodiscard]] int run_lab(char** arguments);

// The executable paraes: for its main function, and for its manual pages.
[[nodiscard]] ExecutableInfo paraes_executable();

}  // namespace paraes::cli
