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
  // CTR with inc32 and GHASH over whole blocks: the kernel's own pass, or one composed of its
  // others. Chosen with the key, for all that it does.
  using Blocks = void (*)(const GcmKey&, GcmCounter&, std::uint8_t state[16],
                          const std::uint8_t* in, std::uint8_t* out, std::size_t blocks);

  CipherKey cipher;
  GhashKey hash;
  Blocks encrypt_blocks;
  Blocks decrypt_blocks;

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

// The tag of a message of `bytes` bytes, whose text is the callable's: text(j0, state) adds its
// ciphertext to the running hash `state`. Inlined: a call for each short segment would show.
template <class Text>
[[gnu::always_inline]] inline void gcm_message(const GcmKey& key, Bytes nonce, Bytes aad,
                                               std::uint64_t bytes, std::uint8_t tag[16],
                                               const Text& text) {
  const GcmCounter j0 = gcm_initial_counter(key, nonce.data(), nonce.size());
  std::uint8_t state[16] = {};
  if (!aad.empty()) gcm_hash(key, state, aad.data(), aad.size());
  text(j0, state);
  gcm_tag(key, j0, state, aad.size(), bytes, tag);
}

// Whether a message's tag, or the beginning of one, is the right one. If not, wipes its plaintext.
[[nodiscard]] inline bool gcm_accept(const std::uint8_t expected[16], Bytes tag,
                                     MutableBytes plain) noexcept {
  if (constant_time_equal({expected, tag.size()}, tag)) return true;
  secure_zero(plain.data(), plain.size());
  return false;
}

}  // namespace paraes
