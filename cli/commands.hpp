// The verbs of the command line. Each function adds one subcommand to `app`, whose callback does
// the work and leaves the process's exit status in `status` (DESIGN: 0 done, 1 I/O, device or
// internal, 2 usage or refusal, 3 some of several failed, 4 not intact, 5 wrong key). A callback
// may throw paraes::Error: main translates it.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "crypt_options.hpp"

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
void add_bench(CLI::App& app, int& status);
void add_tune(CLI::App& app, int& status);

}  // namespace paraes::cli
