// GCM computed from its definition, for what OpenSSL has no interface.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "tests/support/buffers.hpp"
#include "tests/support/evp_oracle.hpp"
#include "tests/support/spec.hpp"

namespace paraes::limits {

using support::Block;
using support::Buffer;
using support::spec_multiply;

inline Block block_of(Bytes bytes) {
  Block block{};
  std::copy_n(bytes.begin(), std::min<std::size_t>(bytes.size(), 16), block.begin());
  return block;
}

inline Block sum(Block a, const Block& b) {
  for (unsigned i = 0; i < 16; ++i) a[i] ^= b[i];
  return a;
}

// The hash key (SP 800-38D section 7.1, step 1).
inline Block hash_key(Bytes key) {
  return block_of(support::evp_ecb(Direction::encrypt, key, Buffer(16)));
}

// 1 / x = x^(2^128 - 2).
inline Block inverse(const Block& x) {
  Block power = x;
  Block result{};
  result[0] = 0x80;  // 1
  for (unsigned i = 1; i < 128; ++i) {
    power = spec_multiply(power, power);
    result = spec_multiply(result, power);
  }
  return result;
}

// The last block that GHASH covers (section 7.1, step 5).
inline Block length_block(std::uint64_t aad_bytes, std::uint64_t text_bytes) {
  Block block{};
  for (unsigned i = 0; i < 8; ++i) {
    block[7 - i] = static_cast<std::uint8_t>(8 * aad_bytes >> 8 * i);
    block[15 - i] = static_cast<std::uint8_t>(8 * text_bytes >> 8 * i);
  }
  return block;
}

// Finds nonces for counter blocks under one key.
class Nonces {
 public:
  explicit Nonces(Bytes key) : divisor_(inverse(hash_key(key))) {}

  // The nonce of 16 bytes or more from which GCM derives the counter block j0 (section 7.1, step
  // 2), and whose bytes after the first 16 are `rest`.
  [[nodiscard]] Buffer nonce_for(const Block& j0, Bytes rest) const {
    // GHASH backwards, from the last block to the one before `rest`.
    Block state = spec_multiply(j0, divisor_);
    state = spec_multiply(sum(state, length_block(0, 16 + rest.size())), divisor_);
    for (std::size_t blocks = (rest.size() + 15) / 16; blocks-- > 0;) {
      state = spec_multiply(sum(state, block_of(rest.subspan(16 * blocks))), divisor_);
    }
    Buffer nonce(state.begin(), state.end());
    nonce.insert(nonce.end(), rest.begin(), rest.end());
    return nonce;
  }

 private:
  Block divisor_;
};

}  // namespace paraes::limits
