// CTR, SP 800-38A section 6.5.
#pragma once

#include "src/modes/cipher_key.hpp"

namespace paraes {

// Encrypts or decrypts `bytes` bytes at byte `offset` of the stream whose first counter block is
// `initial`. `nontemporal` uses non-temporal stores: the kernel must have ctr_nontemporal, and out
// must not be in.
void ctr_range(const CipherKey& key, const std::uint8_t initial[16], std::uint64_t offset,
               const std::uint8_t* in, std::uint8_t* out, std::size_t bytes,
               bool nontemporal = false);

}  // namespace paraes
