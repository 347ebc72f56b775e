// GHASH and XTS tweaks, computed bit by bit as the standards define them. OpenSSL has no interface
// for them.
#pragma once

#include <array>
#include <cstdint>

#include "paraes/ciphers.hpp"

namespace paraes::support {

using Block = std::array<std::uint8_t, 16>;

// x times h in the field of SP 800-38D section 6.3: bit i of the field is bit 7 - i % 8 of byte
// i / 8.
inline Block spec_multiply(const Block& x, const Block& h) {
  Block z{};
  Block v = h;
  for (unsigned i = 0; i < 128; ++i) {
    if (((x[i / 8] >> (7 - i % 8)) & 1) != 0) {
      for (unsigned b = 0; b < 16; ++b) z[b] ^= v[b];
    }
    const bool falls_off = (v[15] & 1) != 0;
    for (unsigned b = 15; b > 0; --b) {
      v[b] = static_cast<std::uint8_t>(v[b] >> 1 | (v[b - 1] & 1) << 7);
    }
    v[0] >>= 1;
    if (falls_off) v[0] ^= 0xe1;
  }
  return z;
}

// SP 800-38D section 6.4, from `state` on; whole blocks.
inline Block spec_ghash(const Block& h, Block state, Bytes data) {
  for (std::size_t at = 0; at < data.size(); at += 16) {
    for (unsigned b = 0; b < 16; ++b) state[b] ^= data[at + b];
    state = spec_multiply(state, h);
  }
  return state;
}

// The tweak of the next block, IEEE 1619 section 5.2: byte 0 is the least significant.
inline Block spec_next_tweak(const Block& tweak) {
  Block next{};
  unsigned carry = 0;
  for (unsigned b = 0; b < 16; ++b) {
    next[b] = static_cast<std::uint8_t>(tweak[b] << 1 | carry);
    carry = tweak[b] >> 7;
  }
  if (carry != 0) next[0] ^= 0x87;
  return next;
}

}  // namespace paraes::support
