// GCM, SP 800-38D.
#pragma once

#include <span>

#include "paraes/ciphers.hpp"
#include "src/core/gf128.hpp"
#include "src/modes/cipher_key.hpp"

namespace paraes {

// Limits of SP 800-38D section 5.2.1.1, in bytes.
inline constexpr std::uint64_t gcm_max_text_bytes = (std::uint64_t{1} << 36) - 32;
inline constexpr std::uint64_t gcm_max_aad_bytes = (std::uint64_t{1} << 61) - 1;

struct GcmKey : InLockedMemory {
  CipherKey cipher;
  GhashKey hash;

  GcmKey(const Kernel& kernel, const std::uint8_t* key, unsigned key_bytes);
};

// The pre-counter block J0 of section 7.1 step 2. nonce_bytes ≥ 1.
[[nodiscard]] GcmCounter gcm_initial_counter(const GcmKey& key, const std::uint8_t* nonce,
                                             std::size_t nonce_bytes);

// CTR and GHASH over a range of a text. `counter` is the counter of its first block and `state` the
// running hash; both are updated. A partial block at the end is padded with zeros for the hash, so
// only the last range of a message may have one. With `nontemporal`, uses the kernel's operation
// with non-temporal stores, which must exist.
void gcm_range(const GcmKey& key, Direction direction, GcmCounter& counter, std::uint8_t state[16],
               const std::uint8_t* in, std::uint8_t* out, std::size_t bytes,
               bool nontemporal = false);

// Continues GHASH in `state` over `bytes` bytes, padded with zeros to whole blocks.
void gcm_hash(const GcmKey& key, std::uint8_t state[16], const std::uint8_t* data,
              std::size_t bytes);

// The GHASH of one of several ranges of a text, starting from zero, and the range's size in blocks.
// With the text, it reveals the hash key.
struct PartialHash {
  std::uint8_t hash[16] = {};
  std::uint64_t blocks = 0;

  ~PartialHash() { secure_zero(hash, sizeof hash); }
};

// Continues `state` over consecutive ranges: for a range of n blocks, multiplies `state` by H^n and
// adds the range's hash. Computes a power only once for consecutive ranges of equal size.
void join_hashes(const GcmKey& key, std::span<const PartialHash> ranges, std::uint8_t state[16]);

// Computes the full tag from `state`, the hash of associated data and ciphertext (section 7.1 steps
// 5 and 6). `state` is changed.
void gcm_tag(const GcmKey& key, const GcmCounter& j0, std::uint8_t state[16],
             std::uint64_t aad_bytes, std::uint64_t text_bytes, std::uint8_t tag[16]);

// Computes the tag of a message. text(j0, state) must encrypt or decrypt the text and continue the
// running hash `state` over its ciphertext.
template <class Text>
void gcm_message(const GcmKey& key, const GcmMessage& message, std::uint8_t tag[16],
                 const Text& text) {
  const GcmCounter j0 = gcm_initial_counter(key, message.nonce, message.nonce_bytes);
  std::uint8_t state[16] = {};
  gcm_hash(key, state, message.aad, message.aad_bytes);
  text(j0, state);
  gcm_tag(key, j0, state, message.aad_bytes, message.bytes, tag);
  secure_zero(state, sizeof state);  // without the tag's mask, it reveals the hash key
}

// Whether the expected tag of `message`, which may be truncated, matches. Zeroises `computed`.
[[nodiscard]] inline bool verify_and_wipe_tag(std::uint8_t computed[16],
                                              const GcmMessage& message) noexcept {
  const bool equal =
      constant_time_equal({computed, message.tag_bytes}, {message.expected_tag, message.tag_bytes});
  secure_zero(computed, 16);
  return equal;
}

}  // namespace paraes
