// GHASH for kernels without carry-less multiplication: constant-time, without tables, on any
// machine.
#pragma once

#include "src/core/gf128.hpp"
#include "src/kernels/kernel.hpp"

namespace paraes {

// Stores the Gf128Factor of H in GhashKey::powers.
inline void ghash_portable_init(GhashKey& key, const std::uint8_t h[16]) {
  Gf128Factor factor = make_factor(load_gf128(h));
  static_assert(sizeof factor <= sizeof key.powers);
  std::memcpy(key.powers, &factor, sizeof factor);
  secure_zero(&factor, sizeof factor);
}

inline void ghash_portable(const GhashKey& key, std::uint8_t state[16], const std::uint8_t* data,
                           std::size_t blocks) {
  if (blocks == 0) return;
  Gf128Factor factor;
  std::memcpy(&factor, key.powers, sizeof factor);
  Gf128 sum = load_gf128(state);
  for (; blocks != 0; --blocks, data += 16) {
    const Gf128 block = load_gf128(data);
    sum = multiply({sum.high ^ block.high, sum.low ^ block.low}, factor);
  }
  store_gf128(state, sum);
  secure_zero(&factor, sizeof factor);
}

}  // namespace paraes
