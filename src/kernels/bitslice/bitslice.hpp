// Functions of the portable build of bitslice that its vector builds use, too.
#pragma once

#include "src/kernels/kernel.hpp"

namespace paraes::bitslice {

// Fills KeySchedule::encrypt and sliced, in constant time.
void expand_sliced(KeySchedule& schedule, const std::uint8_t* key, unsigned key_bytes);

// The operations of the portable row that others share.
void expand(KeySchedule& schedule, const std::uint8_t* key, unsigned key_bytes);
void cbc_encrypt(const KeySchedule& schedule, std::uint8_t chain[16], const std::uint8_t* in,
                 std::uint8_t* out, std::size_t blocks);

}  // namespace paraes::bitslice
