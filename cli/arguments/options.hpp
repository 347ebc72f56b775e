// The flags of encrypt, decrypt, verify, rekey and info, as given.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/arguments/cli11_fwd.hpp"
#include "cli/files/output.hpp"
#include "cli/secrets/keys.hpp"

namespace paraes::cli {

enum class Verb { encrypt, decrypt, verify, rekey, info };

[[nodiscard]] const char* verb_name(Verb verb);

struct CryptOptions {
  std::vector<std::string> inputs;
  std::string format = "paraes";
  std::string mode;
  std::string iv_hex;
  bool no_padding = false;
  std::string unit;
  std::uint64_t iterations = 0;
  unsigned key_bits = 0;
  std::string context_hex;
  std::string segment_size;
  std::string tink_hash;
  unsigned scrypt_log2n = 0;
  unsigned max_scrypt_log2n = 0;
  std::string offset;
  std::string length;
  bool salvage = false;
  KeyOptions keys;
  KeyOptions to;                 // rekey: the new ones
  bool new_key = false;          // rekey
  bool verify_segments = false;  // rekey
  OutputOptions output;
  bool recursive = false;
  std::vector<std::string> exclude;
  bool remove = false;
  std::string device = "auto";
  std::string kernel;
  bool allow_leaky = false;
  std::string transfer = "staged";
  std::string key_expansion = "host";
  int threads = 0;
  bool no_overlap = false;
  bool quiet = false;
  bool verbose = false;
  bool json = false;
  bool progress = false;
  bool no_progress = false;

  CLI::App* verb_app = nullptr;

  // Whether the flag exists for this verb and was given.
  [[nodiscard]] bool given(const char* flag) const;
  // Whether -o names a folder for all outputs, and an error does not end the run.
  [[nodiscard]] bool has_several_inputs() const { return inputs.size() > 1 || recursive; }
  [[nodiscard]] bool data_on_stdin() const { return inputs.size() == 1 && inputs[0] == "-"; }
  // Whether an input is standard input, also by another name. `links`: look for one behind symbolic
  // links, which asks the system about every input.
  [[nodiscard]] bool reads_standard_input(bool links) const;
  // Whether a part of the plaintext was asked for.
  [[nodiscard]] bool wants_part() const { return given("--offset") || given("--length"); }
  // The variables of the environment that hold secrets, which no other program gets.
  [[nodiscard]] std::vector<std::string> secret_variables() const {
    return {keys.passphrase_env, to.passphrase_env};
  }
  // Of encrypt and decrypt; the others write none there.
  [[nodiscard]] bool data_on_stdout() const {
    return goes_to_standard_output(output, data_on_stdin());
  }
};

// If no FILE is given, makes standard input the one input: unless that is a terminal, whose user
// has more likely forgotten the FILE, or a flag needs a FILE or standard input for itself.
void default_to_standard_input(CryptOptions& options, bool is_terminal);

// Why `verb` has no input after default_to_standard_input, for an error.
[[nodiscard]] std::string why_no_input(const CryptOptions& options, Verb verb);

// Adds the flags of `verb`.
void add_crypt_options(CLI::App& app, CryptOptions& options, Verb verb);

}  // namespace paraes::cli
