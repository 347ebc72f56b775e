// The verbs of the command line. Each function adds one subcommand to `app`, whose callback does
// the work and leaves the process's exit status in `status` (DESIGN: 0 done, 1 I/O, device or
// internal, 2 usage or refusal, 3 some of several failed, 4 not intact, 5 wrong key). A callback
// may throw paraes::Error: main translates it.
#pragma once

#include <functional>

#include "bench/bench.hpp"
#include "cli/cli11_fwd.hpp"
#include "cli/crypt_options.hpp"

namespace paraes::cli {

// How a program does encrypt, decrypt and verify; as it stands, in this process.
struct CryptProgram {
  // Adds flags of its own.
  std::function<void(CLI::App& verb)> add_options;
  // Does it all and returns the exit status; empty: run_batch.
  std::function<int(const CryptOptions& options, Verb verb)> run;
};

void add_encrypt(CLI::App& app, int& status, const CryptProgram& program);
void add_decrypt(CLI::App& app, int& status, const CryptProgram& program);
void add_verify(CLI::App& app, int& status, const CryptProgram& program);
void add_info(CLI::App& app, int& status);
void add_keygen(CLI::App& app, int& status);
void add_devices(CLI::App& app, int& status);
// The same of bench.
struct BenchProgram {
  std::function<void(CLI::App& verb)> add_options;
  // Runs the axes and returns the exit status; empty: the plan of bench::make_plan.
  std::function<int(const bench::Axes& axes, const bench::Options& options)> run;
};
void add_bench(CLI::App& app, int& status, const BenchProgram& program);
void add_tune(CLI::App& app, int& status);

// lab has flags and verbs of its own: add_lab only names it in the help, and who finds it as the
// first argument calls run_lab with those behind it, up to a null pointer. It returns only where
// paraes-lab cannot be run: the exit status.
void add_lab(CLI::App& app);
[[nodiscard]] int run_lab(char** arguments);

}  // namespace paraes::cli
