// GHASH (SP 800-38D section 6.4) with the polynomial multiplication of bytes (PMULL.8H), which
// every AArch64 core has, for cores without that of 64-bit words. Constant-time, without tables.
#pragma once

#include "src/kernels/kernel.hpp"

namespace paraes {

// Stores the powers of H that ghash_p8 needs in GhashKey::powers and GhashKey::folded.
void ghash_p8_init(GhashKey& key, const std::uint8_t h[16]);
void ghash_p8(const GhashKey& key, std::uint8_t state[16], const std::uint8_t* data,
              std::size_t blocks);

}  // namespace paraes
