// GCM, SP 800-38D.
#pragma once

#include <span>

#include "paraes/ciphers.hpp"
#include "src/core/gf128.hpp"
#include "src/modes/cipher_key.hpp"

namespace paraes {

// Limits of section 5.2.1.1, in bytes.
inline constexpr std::uint64_t gcm_max_text_bytes = (std::uint64_t{1} << 36) - 32;
inline constexpr std::uint64_t gcm_max_aad_bytes = (std::uint64_t{1} << 61) - 1;

struct GcmKey : InLockedMemory {
  CipherKey cipher;
  GhashKey hash;

  GcmKey(const Kernel& row, const std::uint8_t* key, unsigned key_bytes);
};

// J0 of section 7.1 step 2; nonce_bytes ≥ 1.
[[nodiscard]] GcmCounter gcm_initial_counter(const GcmKey& key, const std::uint8_t* nonce,
                                             std::size_t nonce_bytes);

// CTR and GHASH over the bytes of one run of a text: `counter` is that of its first block, `state`
// the running hash. A last partial block is padded with zeros for the hash, so that only the last
// run of a message may have one.
void gcm_run(const GcmKey& key, Direction direction, GcmCounter& counter, std::uint8_t state[16],
             const std::uint8_t* in, std::uint8_t* out, std::size_t bytes);

// GHASH of `bytes` bytes, padded with zeros to whole blocks.
void gcm_hash(const GcmKey& key, std::uint8_t state[16], const std::uint8_t* data,
              std::size_t bytes);

// The GHASH, from zero, of one of several ranges of a text, and its blocks.
struct PartialHash {
  std::uint8_t hash[16] = {};
  std::uint64_t blocks = 0;
};

// Continues `state` over consecutive ranges: a range of n blocks multiplies what came before it by
// H^n, and adds its own hash. Ranges of equal sizes share that power.
void join_hashes(const GcmKey& key, std::span<const PartialHash> ranges, std::uint8_t state[16]);

// From the hash of AAD and ciphertext to the full tag (section 7.1 steps 5 and 6).
void gcm_tag(const GcmKey& key, const GcmCounter& j0, std::uint8_t state[16],
             std::uint64_t aad_bytes, std::uint64_t text_bytes, std::uint8_t tag[16]);

}  // namespace paraes
