// Decodes files of keys and passphrases: docs/command-line.md describes them under "Keys".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "paraes/ciphers.hpp"
#include "paraes/error.hpp"
#include "paraes/export.hpp"
#include "paraes/secret.hpp"

namespace paraes {

// The use of a key decides which sizes it may have, in bytes.
enum class KeyUse {
  block,     // 16, 24 or 32 (FIPS 197)
  xts,       // 32 or 64: two halves (SP 800-38E)
  segments,  // 16 or 32: the authenticated formats
};

enum class KeyEncoding {
  by_size,  // raw or hex: the size decides
  raw,
  hex,  // two digits for each byte, and perhaps LF or CRLF
};

// A key has a size that its use does not allow.
class PARAES_EXPORT WrongKeySize : public InvalidArgument {
 public:
  using InvalidArgument::InvalidArgument;
};

// The size of a key file does not tell whether it is raw or hex.
class PARAES_EXPORT AmbiguousKey : public InvalidArgument {
 public:
  using InvalidArgument::InvalidArgument;
};

// The most bytes that decode_key accepts.
inline constexpr std::size_t max_key_file_bytes = 2 * 64 + 2;

// The key in `contents`, which is all that the file `name` holds. The name begins the messages of
// exceptions: WrongKeySize, AmbiguousKey, and InvalidArgument for anything but an even number of
// digits where the encoding is hex.
[[nodiscard]] PARAES_EXPORT SecretBytes decode_key(SecretBytes contents, std::string_view name,
                                                   KeyUse use,
                                                   KeyEncoding encoding = KeyEncoding::by_size);

// Whether all bytes are hex digits.
[[nodiscard]] PARAES_EXPORT bool is_hex(Bytes text) noexcept;

// The text without one final LF or CRLF.
[[nodiscard]] PARAES_EXPORT Bytes without_newline(Bytes text) noexcept;

}  // namespace paraes
