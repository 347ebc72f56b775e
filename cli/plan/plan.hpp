// The plan of a run of encrypt, decrypt, verify or rekey, checked before the first file is opened.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/arguments/crypt_options.hpp"
#include "cli/words/choices.hpp"
#include "paraes/ciphers.hpp"
#include "paraes/kernels.hpp"
#include "paraes/messages.hpp"
#include "paraes/streams.hpp"

namespace paraes::cli {

[[nodiscard]] const char* format_name(Format format);
[[nodiscard]] inline bool is_authenticated(Format format) {
  return format != Format::raw && format != Format::openssl;
}

struct Plan {
  Verb verb = Verb::encrypt;
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
  std::string why;  // why a profile chose this device and kernel; empty if none did
  bool overlap = true;

  [[nodiscard]] Direction direction() const {
    return verb == Verb::encrypt ? Direction::encrypt : Direction::decrypt;
  }

  // How many bytes of plaintext an input of `bytes` bytes has, which is what progress counts: as
  // far as the flags tell. Those of a Tink keyset and of padding are not known yet.
  [[nodiscard]] std::uint64_t plain_bytes(std::uint64_t bytes) const;
};

// Throws InvalidArgument for wrong or contradictory flags and for a kernel or device that does not
// exist, and Unavailable for a kernel or device that this machine lacks.
[[nodiscard]] Plan make_plan(const CryptOptions& options, Verb verb);

// Throws InvalidArgument if --passphrase-fd, one of `keys`, names a standard output stream, the
// pipe or socket that the output goes to, or no descriptor that can be read. Apart from make_plan,
// because only the process that reads the passphrase has the descriptor.
void check_passphrase_fd(const CryptOptions& options, const KeyOptions& keys, Verb verb);

// The format that --format names. Throws InvalidArgument if there is none of that name.
[[nodiscard]] Format parse_format(const CryptOptions& options);

// Stores --segment-size and --tink-hash, if given. Throws InvalidArgument.
void parse_tink(const CryptOptions& options, Plan& plan);

// Decodes `text`, the hex digits given to `flag`. Throws InvalidArgument.
[[nodiscard]] std::vector<std::uint8_t> parse_hex(const std::string& text, const char* flag);

// "CBC" and the like, for messages.
[[nodiscard]] const char* mode_name(BlockMode mode);

}  // namespace paraes::cli
