// What the flags of encrypt, decrypt, verify, rekey and info were given. Only cli/plan reads it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/arguments/secret_sources.hpp"
#include "cli/words/choices.hpp"
#include "paraes/ciphers.hpp"

namespace paraes::cli {

enum class Verb { encrypt, decrypt, verify, rekey, info };

[[nodiscard]] const char* verb_name(Verb verb);

// A flag that was not given leaves nullopt, false or nothing. flags.cpp says what each means.
struct CryptOptions {
  explicit CryptOptions(Verb what = Verb::encrypt) : verb(what) {
    keys.role = what == Verb::info      ? KeyRole::look
                : what == Verb::encrypt ? KeyRole::seal
                                        : KeyRole::open;
    to.role = KeyRole::rekey_to;
  }

  Verb verb;
  std::vector<std::string> inputs;
  bool recursive = false;
  std::vector<std::string> exclude;

  std::optional<Format> format;
  std::optional<BlockMode> mode;
  std::optional<std::vector<std::uint8_t>> iv;
  bool no_padding = false;
  std::optional<std::uint64_t> unit;
  std::optional<std::uint64_t> iterations;
  std::optional<unsigned> key_bits;
  std::optional<std::vector<std::uint8_t>> context;
  std::optional<std::uint64_t> segment_bytes;
  std::optional<TinkHash> tink_hash;
  std::optional<unsigned> scrypt_log2n;
  std::optional<unsigned> max_scrypt_log2n;
  std::optional<std::uint64_t> offset;
  std::optional<std::uint64_t> length;
  bool salvage = false;

  SecretSources keys;
  SecretSources to;              // rekey: the new ones
  bool new_key = false;          // rekey
  bool verify_segments = false;  // rekey

  std::optional<std::string> output;
  bool standard_output = false;
  bool force = false;
  bool update = false;
  bool remove = false;

  std::optional<std::string> device;
  std::optional<std::string> kernel;
  bool allow_leaky = false;
  std::optional<Transfer> transfer;
  std::optional<KeyExpansion> key_expansion;
  int threads = 0;
  bool no_overlap = false;

  bool quiet = false;
  bool verbose = false;
  bool json = false;
  bool progress = false;
  bool no_progress = false;
};

}  // namespace paraes::cli
