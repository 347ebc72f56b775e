// The interface between kernels and everything above them: one row of function pointers a kernel.
//
// Conventions of every operation:
//   in, out   any alignment; out == in or no overlap at all; `blocks` may be zero;
//   schedule  filled by the same row's `expand`;
// An operation that is nullptr is composed from the others by src/modes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "paraes/kernels.hpp"
#include "src/core/key_schedule.hpp"
#include "src/kernels/cpu_features.hpp"

namespace paraes {

// OpenSSL's providers take no longer GCM nonces (GCM_IV_MAX_SIZE).
inline constexpr std::size_t max_library_nonce_bytes = 128;

// What GHASH needs of H = E_K(0), in the form of the row whose `ghash_init` filled it.
struct GhashKey {
  // Blocks that one reduction can serve in the widest kernel; powers[max_powers - k] belongs to
  // H^k.
  static constexpr unsigned max_powers = 64;

  std::uint8_t h[16];
  alignas(64) std::uint8_t powers[max_powers][16];
  // Sums of the halves of the powers (Karatsuba), in the order of the kernel's own batches.
  alignas(64) std::uint8_t folded[max_powers / 2][16];

  GhashKey() noexcept { secure_zero(this, sizeof *this); }
  ~GhashKey() { secure_zero(this, sizeof *this); }
  GhashKey(const GhashKey&) = delete;
  GhashKey& operator=(const GhashKey&) = delete;
};

// The counter block of a run of GCM. That of a 96-bit nonce is as public as the nonce. Any other is
// a hash under H, each bit of it a linear equation in the bits of H: then nothing that an observer
// sees (branches, addresses) may depend on it.
struct GcmCounter {
  std::uint8_t block[16];
  bool secret;
};

struct Kernel {
  std::string_view name;
  std::string_view variant;
  CpuFeatureSet needs;
  Timing timing;

  // key_bytes is 16, 24 or 32.
  void (*expand)(KeySchedule& schedule, const std::uint8_t* key, unsigned key_bytes);

  // SP 800-38A 6.1.
  void (*ecb_encrypt)(const KeySchedule&, const std::uint8_t* in, std::uint8_t* out,
                      std::size_t blocks);
  void (*ecb_decrypt)(const KeySchedule&, const std::uint8_t* in, std::uint8_t* out,
                      std::size_t blocks);

  // SP 800-38A 6.2. `chain` is the previous ciphertext block (the IV first) and is left as the last
  // one. Encryption is serial and needs an operation of its own: composing it would cross the
  // interface once a block.
  void (*cbc_encrypt)(const KeySchedule&, std::uint8_t chain[16], const std::uint8_t* in,
                      std::uint8_t* out, std::size_t blocks);
  void (*cbc_decrypt)(const KeySchedule&, std::uint8_t chain[16], const std::uint8_t* in,
                      std::uint8_t* out, std::size_t blocks);

  // SP 800-38A 6.5: counter is 128 bits, big-endian, and is left at the next unused value.
  void (*ctr)(const KeySchedule&, std::uint8_t counter[16], const std::uint8_t* in,
              std::uint8_t* out, std::size_t blocks);

  // The same with non-temporal stores; out is not in.
  void (*ctr_nontemporal)(const KeySchedule&, std::uint8_t counter[16], const std::uint8_t* in,
                          std::uint8_t* out, std::size_t blocks);

  // IEEE 1619 section 5.3 without stealing: `units` data units that start `stride` bytes apart in
  // in and out, `blocks` whole blocks in each; tweaks[16 u] is the encrypted tweak of unit u. That
  // of the last unit is left as the tweak of the block after it, for stealing.
  void (*xts_encrypt)(const KeySchedule&, std::uint8_t* tweaks, const std::uint8_t* in,
                      std::uint8_t* out, std::size_t units, std::size_t stride, std::size_t blocks);
  void (*xts_decrypt)(const KeySchedule&, std::uint8_t* tweaks, const std::uint8_t* in,
                      std::uint8_t* out, std::size_t units, std::size_t stride, std::size_t blocks);

  // SP 800-38D 6.4: state = (state ^ X1) H ^ …; ghash_init prepares H.
  void (*ghash_init)(GhashKey&, const std::uint8_t h[16]);
  void (*ghash)(const GhashKey&, std::uint8_t state[16], const std::uint8_t* data,
                std::size_t blocks);

  // CTR with inc32 (SP 800-38D 6.5) and GHASH of the ciphertext in one pass.
  void (*gcm_encrypt)(const KeySchedule&, const GhashKey&, GcmCounter& counter,
                      std::uint8_t state[16], const std::uint8_t* in, std::uint8_t* out,
                      std::size_t blocks);
  void (*gcm_decrypt)(const KeySchedule&, const GhashKey&, GcmCounter& counter,
                      std::uint8_t state[16], const std::uint8_t* in, std::uint8_t* out,
                      std::size_t blocks);

  // A whole message at once, for libraries that offer GCM only so; nonces have 1 to
  // max_library_nonce_bytes bytes. seal writes the full 16-byte tag; open returns whether the
  // tag_bytes bytes at tag match (out is unspecified if not).
  void (*gcm_seal)(const KeySchedule&, const std::uint8_t* nonce, std::size_t nonce_bytes,
                   const std::uint8_t* aad, std::size_t aad_bytes, const std::uint8_t* in,
                   std::uint8_t* out, std::size_t bytes, std::uint8_t tag[16]);
  bool (*gcm_open)(const KeySchedule&, const std::uint8_t* nonce, std::size_t nonce_bytes,
                   const std::uint8_t* aad, std::size_t aad_bytes, const std::uint8_t* in,
                   std::uint8_t* out, std::size_t bytes, const std::uint8_t* tag,
                   std::size_t tag_bytes);
};

}  // namespace paraes
