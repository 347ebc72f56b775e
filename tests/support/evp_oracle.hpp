// OpenSSL's EVP ciphers as an independent answer. This does not use the project's own `openssl`
// kernel, whose plumbing is under test like that of the others.
#pragma once

#include <array>

#include "paraes/ciphers.hpp"
#include "tests/support/buffers.hpp"

namespace paraes::support {

[[nodiscard]] Buffer evp_ecb(Direction direction, Bytes key, Bytes in);
[[nodiscard]] Buffer evp_cbc(Direction direction, Bytes key, Bytes iv, Bytes in);
[[nodiscard]] Buffer evp_ctr(Bytes key, Bytes counter, Bytes in);

// One data unit of at least 16 bytes.
[[nodiscard]] Buffer evp_xts_unit(Direction direction, Bytes key, Bytes tweak, Bytes in);

// A message in data units as FORMATS.md cuts it: `unit_bytes` each (0: one unit), a rest of under
// 16 bytes joined to the unit before it, tweaks that count up as 16-byte little-endian integers.
[[nodiscard]] Buffer evp_xts(Direction direction, Bytes key, Bytes first_unit,
                             std::size_t unit_bytes, Bytes in);

struct Sealed {
  Buffer text;
  std::array<std::uint8_t, 16> tag;
};

// nonce: 1 to 128 bytes.
[[nodiscard]] Sealed evp_gcm_encrypt(Bytes key, Bytes nonce, Bytes aad, Bytes in);

}  // namespace paraes::support
