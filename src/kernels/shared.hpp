// Operations of a kernel that other kernels share.
#pragma once

#include "src/kernels/kernel.hpp"

namespace paraes {

// On single blocks, for kernels with wider vectors.
namespace aesni {
ExpandOperation expand;
ChainedOperation cbc_encrypt;
}  // namespace aesni

namespace armv8 {
ExpandOperation expand;
ChainedOperation cbc_encrypt;
}  // namespace armv8

// Functions of the portable variant that the others use. The first two fill KeySchedule::encrypt
// and sliced, in constant time; a variant that does more in its own `expand` calls the second one,
// so that no kernel runs the functions of another.
namespace bitslice {
ExpandOperation expand;
ExpandOperation expand_sliced;
ChainedOperation cbc_encrypt;
}  // namespace bitslice

// GHASH (SP 800-38D section 6.4) with the polynomial multiplication of bytes (PMULL.8H), which
// every AArch64 core has, for cores without that of 64-bit words. Constant-time, without tables.
// Keeps powers of H in GhashKey::powers and GhashKey::folded.
void ghash_p8_init(GhashKey& key, const std::uint8_t h[16]);
void ghash_p8(const GhashKey& key, std::uint8_t state[16], const std::uint8_t* data,
              std::size_t blocks);

}  // namespace paraes
