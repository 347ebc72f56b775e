// The values of the flags of encrypt, decrypt, verify, rekey and info.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/arguments/secret_sources.hpp"
#include "cli/words/choices.hpp"
#include "paraes/messages.hpp"

namespace paraes::cli {

enum class Verb { encrypt, decrypt, verify, rekey, info };

[[nodiscard]] const char* verb_name(Verb verb);

// Whether the outputs are other files than the inputs.
[[nodiscard]] constexpr bool has_outputs(Verb verb) {
  return verb == Verb::encrypt || verb == Verb::decrypt;
}

// Values that a run uses as they were given, or their defaults. The plan has them as well.
struct Settings {
  Verb verb = Verb::encrypt;
  bool recursive = false;
  bool removes = false;  // --rm
  Sparse sparse = Sparse::automatic;
  bool keeps_attributes = false;  // --xattrs
  bool one_file_system = false;
  bool dry_run = false;

  SecretSources keys;
  SecretSources new_keys;        // of rekey
  bool new_key = false;          // rekey seals the data again even if the header alone could do
  bool verify_segments = false;  // rekey authenticates the data even if the header alone changes

  unsigned key_bits = 0;  // 0: not given

  // raw and openssl
  bool no_padding = false;
  std::uint64_t unit_bytes = 4096;
  std::uint64_t iterations = 10000;
  SaltedKdf salted_kdf = SaltedKdf::pbkdf2;
  Digest digest = Digest::sha256;

  // paraes, c2sp and tink
  std::vector<std::uint8_t> context;
  std::optional<std::uint64_t> segment_bytes;
  std::optional<TinkHash> tink_hash;
  unsigned scrypt_log2n = default_scrypt_log2n;
  unsigned max_scrypt_log2n = paraes::max_scrypt_log2n;
  std::optional<std::uint64_t> offset;
  std::optional<std::uint64_t> length;
  bool salvage = false;

  // Tink's parameters with a raw key, except the sizes of keys.
  [[nodiscard]] TinkParameters tink_parameters() const {
    TinkParameters parameters;
    if (segment_bytes) parameters.segment_bytes = *segment_bytes;
    if (tink_hash) parameters.hash = *tink_hash;
    return parameters;
  }
};

// The rest, which the rules of flags.cpp and cli/plan read. `flags_given` says whether a flag was
// given.
struct CryptOptions : Settings {
  explicit CryptOptions(Verb what = Verb::encrypt) {
    verb = what;
    keys.role = what == Verb::info      ? KeyRole::look
                : what == Verb::encrypt ? KeyRole::seal
                                        : KeyRole::open;
    new_keys.role = KeyRole::rekey_to;
  }

  std::set<std::string_view> flags_given;  // by their names in the table
  std::vector<std::string> inputs;
  std::optional<std::string> files_from;
  bool null_list = false;  // --null
  std::vector<std::string> exclude;
  std::vector<std::string> exclude_from;

  std::optional<Format> format;
  std::optional<BlockMode> mode;
  std::optional<std::vector<std::uint8_t>> iv;

  std::optional<std::string> output;
  bool standard_output = false;
  bool force = false;
  bool update = false;

  std::optional<std::string> device;
  std::optional<std::string> kernel;
  bool allow_leaky = false;
  Transfer transfer = Transfer::staged;
  KeyExpansion key_expansion = KeyExpansion::host;
  int threads = 0;
  bool no_overlap = false;

  bool quiet = false;
  bool verbose = false;
  bool json = false;
  bool progress = false;
  bool no_progress = false;
};

}  // namespace paraes::cli
