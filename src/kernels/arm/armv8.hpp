// Operations on single blocks, which both kernels with AES instructions share.
#pragma once

#include "src/kernels/kernel.hpp"

namespace paraes::armv8 {

void expand(KeySchedule& schedule, const std::uint8_t* key, unsigned key_bytes);
void cbc_encrypt(const KeySchedule& schedule, std::uint8_t chain[16], const std::uint8_t* in,
                 std::uint8_t* out, std::size_t blocks);

}  // namespace paraes::armv8
