// GCM encryption with nonces of any length. The public class encrypts with 12-byte nonces only.
#pragma once

#include <array>
#include <vector>

#include "tests/support/evp_oracle.hpp"
#include "tests/support/gcm_stream.hpp"

namespace paraes::support {

// Encrypts one message with GcmStream.
inline Sealed core_gcm_encrypt(const Kernel& row, Bytes key, Bytes nonce, Bytes aad, Bytes in) {
  const GcmKey expanded(row, key.data(), static_cast<unsigned>(key.size()));
  GcmStream stream(expanded, Direction::encrypt, nonce);
  Sealed sealed{Buffer(in.size()), {}};
  stream.aad(aad);
  stream.update(in, sealed.text);
  stream.tag(sealed.tag.data());
  return sealed;
}

// A 16-byte nonce whose J0 (SP 800-38D section 7.1 step 2) is `j0` under `key`: with one nonce
// block N and the length block L, J0 = ((N H) ^ L) H, which can be solved for N.
[[nodiscard]] inline std::array<std::uint8_t, 16> nonce_for_j0(Bytes key,
                                                               const std::uint8_t j0[16]) {
  const Buffer zero(16);
  const Buffer h_bytes = evp_ecb(Direction::encrypt, key, zero);
  // 1/H = H^(2^128 - 2), the product of H^(2^i) for i from 1 to 127.
  Gf128 square = load_gf128(h_bytes.data());
  Gf128 inverse{std::uint64_t{1} << 63, 0};
  for (int i = 1; i < 128; ++i) {
    square = multiply(square, make_factor(square));
    inverse = multiply(inverse, make_factor(square));
  }
  const Gf128Factor divide = make_factor(inverse);
  Gf128 n = multiply(load_gf128(j0), divide);
  n.low ^= 128;  // L: no AAD bits, 128 nonce bits
  n = multiply(n, divide);
  std::array<std::uint8_t, 16> nonce;
  store_gf128(nonce.data(), n);
  return nonce;
}

}  // namespace paraes::support
