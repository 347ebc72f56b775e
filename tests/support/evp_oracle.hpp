// Expected results, from OpenSSL's EVP ciphers. The code shares nothing with the `openssl` kernel,
// which is under test like the others.
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "paraes/ciphers.hpp"
#include "tests/support/buffers.hpp"

struct evp_cipher_ctx_st;  // OpenSSL's EVP_CIPHER_CTX

namespace paraes::support {

[[nodiscard]] Buffer evp_ecb(Direction direction, Bytes key, Bytes in);
[[nodiscard]] Buffer evp_cbc(Direction direction, Bytes key, Bytes iv, Bytes in);
[[nodiscard]] Buffer evp_ctr(Bytes key, Bytes counter, Bytes in);

// One data unit of at least 16 bytes.
[[nodiscard]] Buffer evp_xts_unit(Direction direction, Bytes key, Bytes tweak, Bytes in);

// A message in data units of `unit_bytes` bytes each (0: one unit). A rest under 16 bytes belongs
// to the unit before it. Unit numbers count up from first_unit as 16-byte little-endian integers.
[[nodiscard]] Buffer evp_xts(Direction direction, Bytes key, Bytes first_unit,
                             std::size_t unit_bytes, Bytes in);

struct Sealed {
  Buffer text;
  std::array<std::uint8_t, 16> tag;
};

// nonce: 1 to 128 bytes.
[[nodiscard]] Sealed evp_gcm_encrypt(Bytes key, Bytes nonce, Bytes aad, Bytes in);

// Encrypts in parts: associated data first, without `out`, then the text.
class EvpGcmStream {
 public:
  EvpGcmStream(Bytes key, Bytes nonce);
  void add(Bytes part, std::uint8_t* out);
  [[nodiscard]] std::array<std::uint8_t, 16> tag();

 private:
  std::shared_ptr<evp_cipher_ctx_st> context_;
};

// Nothing if the tag, of 16 bytes, is not that of the text.
[[nodiscard]] std::optional<Buffer> evp_gcm_decrypt(Bytes key, Bytes nonce, Bytes aad, Bytes in,
                                                    Bytes tag);

}  // namespace paraes::support
