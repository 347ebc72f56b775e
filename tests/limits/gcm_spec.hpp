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

// The last block that GHASH covers (section 7.1, step 5).
inline Block length_block(std::uint64_t aad_bytes, std::uint64_t text_bytes) {
  Block block{};
  for (unsigned i = 0; i < 8; ++i) {
    block[7 - i] = static_cast<std::uint8_t>(8 * aad_bytes >> 8 * i);
    block[15 - i] = static_cast<std::uint8_t>(8 * text_bytes >> 8 * i);
  }
  return block;
}

}  // namespace paraes::limits
