// The table of the flags of encrypt, decrypt, verify, rekey and info. From it come their parser,
// --help, the manual, completions and docs/reference.md, and the refusals of flags that do not go
// together.
#pragma once

#include <string>

#include "cli/arguments/arguments.hpp"
#include "cli/arguments/cli11_fwd.hpp"
#include "cli/arguments/options.hpp"
#include "cli/words/choices.hpp"

namespace paraes::cli {

// Adds those of the flags of options.verb that `named` includes. They store what they are given in
// `options`. The parser throws InvalidArgument, which names the flag, for a value that does not
// fit.
void add_crypt_flags(CLI::App& app, CryptOptions& options, const NamedFlags& named);

// The facts about a run that decide which of its flags have an effect.
struct FlagFacts {
  Format format = Format::paraes;
  BlockMode mode = BlockMode::ctr;        // of raw and openssl
  SecretKind keys = SecretKind::key;      // what the files are, or will be, encrypted with
  SecretKind new_keys = SecretKind::key;  // what they will be encrypted with
  bool data_on_stdin = false;
  bool data_on_stdout = false;
  std::string descriptor;  // the name of an input or output that means one; empty if none does
};

// Throws InvalidArgument if a flag was given that has no effect in this run, because the user
// expects one, or that contradicts another.
void check_flags(const CryptOptions& options, const FlagFacts& facts);

}  // namespace paraes::cli
