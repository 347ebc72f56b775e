// The plan of a run of encrypt, decrypt, verify, rekey or info: all that its flags say, checked
// before the first file is opened. Afterwards nobody reads the flags.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/arguments/options.hpp"
#include "cli/plan/exclude.hpp"
#include "cli/plan/output.hpp"
#include "cli/plan/reporting.hpp"
#include "cli/plan/standard_input.hpp"
#include "cli/words/choices.hpp"
#include "paraes/ciphers.hpp"
#include "paraes/kernels.hpp"
#include "paraes/messages.hpp"
#include "paraes/streams.hpp"

namespace paraes::cli {

struct Plan {
  Verb verb = Verb::encrypt;
  Reporting reporting;

  // What is read, and where the outputs go.
  std::vector<std::string> inputs;
  StandardInput standard_input;
  bool recursive = false;
  // Whether there may be more than one file: several inputs, or -r. Then -o names a folder for all
  // outputs, and an error with one of them does not end the run.
  bool several = false;
  Exclusions exclusions;
  Output output;
  bool removes = false;  // --rm

  // Secrets.
  SecretSources keys;
  SecretSources new_keys;        // of rekey
  bool new_key = false;          // rekey seals the data again even if the header alone could do
  bool verify_segments = false;  // rekey authenticates the data even if the header alone changes

  Format format = Format::paraes;
  bool format_named = false;
  unsigned key_bits = 0;  // 0: not given

  // raw and openssl
  BlockMode mode = BlockMode::ctr;
  std::vector<std::uint8_t> iv;
  bool padding = true;
  std::size_t unit_bytes = 4096;
  std::uint64_t iterations = 10000;

  // paraes, c2sp and tink
  std::vector<std::uint8_t> context;
  std::uint64_t segment_bytes = 1 << 20;
  TinkHash tink_hash = TinkHash::sha256;
  bool tink_flags = false;  // --segment-size or --tink-hash was given
  unsigned scrypt_log2n = default_scrypt_log2n;
  unsigned max_scrypt_log2n = paraes::max_scrypt_log2n;
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length;
  bool salvage = false;

  KernelInfo kernel;
  Execution execution;
  bool on_gpu = false;
  std::string why;          // why this kernel, and perhaps this device
  bool may_choose = false;  // a profile may choose another device and kernel: see use_profile
  bool overlap = true;

  [[nodiscard]] Direction direction() const {
    return verb == Verb::encrypt ? Direction::encrypt : Direction::decrypt;
  }

  // The variables of the environment that hold secrets, which no other program gets.
  [[nodiscard]] std::vector<std::string> secret_variables() const;

  // Whether a program is started: a command, or age.
  [[nodiscard]] bool starts_programs() const {
    return keys.starts_programs() || new_keys.starts_programs();
  }

  // Whether existing files may be overwritten.
  [[nodiscard]] bool replaces_files() const {
    return output.replaces_all || output.replaces_older || verb == Verb::rekey;
  }

  // How many bytes of plaintext an input of `bytes` bytes has, which is what progress counts: as
  // far as the flags tell. Those of a Tink keyset and of padding are not known yet.
  [[nodiscard]] std::uint64_t plain_bytes(std::uint64_t bytes) const;
};

// Where a run takes place.
struct Surroundings {
  bool stdin_is_terminal = false;
  // Its standard streams pass through a launcher, as under mpirun, which may have opened other
  // descriptors.
  bool launched = false;
};

// Throws InvalidArgument for wrong or contradictory flags and for a kernel or device that does not
// exist, and Unavailable for a kernel or device that this machine lacks. Sets `reporting` before.
[[nodiscard]] Plan make_plan(const CryptOptions& options, const Surroundings& surroundings,
                             Reporting& reporting);

// "CBC" and the like, for messages.
[[nodiscard]] const char* mode_name(BlockMode mode);

}  // namespace paraes::cli
