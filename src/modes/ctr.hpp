// CTR, SP 800-38A section 6.5.
#pragma once

#include "src/modes/cipher_key.hpp"

namespace paraes {

// Encrypts or decrypts the `bytes` bytes that stand at `offset` of the stream that starts with
// counter block `initial`. `nontemporal` uses non-temporal stores; only for kernels that have
// ctr_nontemporal, and where out is not in.
void ctr_run(const CipherKey& key, const std::uint8_t initial[16], std::uint64_t offset,
             const std::uint8_t* in, std::uint8_t* out, std::size_t bytes,
             bool nontemporal = false);

}  // namespace paraes
