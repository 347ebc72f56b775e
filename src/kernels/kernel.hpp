// The interface between kernels and the code above them. Each kernel is a table of function
// pointers.
//
// Common to all operations:
//   in, out   any alignment; out is in or does not overlap it; `blocks` may be zero;
//   schedule  filled by `expand` of the same kernel.
// If a fused operation is nullptr, src/modes composes it from the others.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "paraes/kernels.hpp"
#include "src/core/key_schedule.hpp"
#include "src/core/non_copyable.hpp"
#include "src/kernels/cpu_features.hpp"

namespace paraes {

// Maximum size of a GCM nonce in OpenSSL's providers (GCM_IV_MAX_SIZE).
inline constexpr std::size_t max_library_nonce_bytes = 128;

// See Kernel::xts_tweaks.
inline constexpr std::size_t xts_tweak_group = 16;

// H = E_K(0), prepared for GHASH by `ghash_init` in the form that the same kernel's operations
// need.
struct GhashKey : NonCopyable {
  // Maximum number of blocks per reduction. powers[max_powers - k] is for H^k; the exact contents
  // differ between kernels.
  static constexpr unsigned max_powers = 64;

  std::uint8_t h[16];
  // The entries behind the last power stay zero: a vector that begins at one of the last powers
  // ends there, and multiplies them by zero.
  alignas(64) std::uint8_t powers[max_powers + 3][16];
  // Sums of the two halves of each power (Karatsuba), in the order in which the kernel uses them.
  alignas(64) std::uint8_t folded[max_powers / 2][16];

  GhashKey() noexcept { secure_zero(this, sizeof *this); }
  ~GhashKey() { secure_zero(this, sizeof *this); }
};

// A counter block of GCM. With a 96-bit nonce it is as public as the nonce. With any other nonce it
// is a hash under H, each bit of which reveals an equation in the bits of H: it is then `secret`,
// and no branch or address may depend on it.
struct GcmCounter {
  std::uint8_t block[16];
  bool secret;

  ~GcmCounter() { secure_zero(block, sizeof block); }
};

// A whole message. Sizes are in bytes; a buffer of size 0 may be nullptr. `out` has `bytes` bytes,
// and is `in` or does not overlap it.
struct GcmMessage {
  const std::uint8_t* nonce;
  std::size_t nonce_bytes;  // at least 1
  const std::uint8_t* aad;
  std::size_t aad_bytes;
  const std::uint8_t* in;
  std::uint8_t* out;
  std::size_t bytes;
  std::uint8_t* tag;                 // 16 bytes; for encryption
  const std::uint8_t* expected_tag;  // for decryption
  std::size_t tag_bytes;             // 4 to 16; for decryption
};

struct Kernel;

// The part of a key that short GCM messages need, in 22 cache lines. A message of 16 bytes reads
// four or five of them: a program with thousands of keys waits for lines that are not in the
// caches. Filled by gcm_expand.
struct ShortGcmKey : NonCopyable {
  // For that many blocks, the lengths included, there is one reduction.
  static constexpr unsigned max_powers = 68;

  alignas(64) unsigned rounds;
  unsigned key_bytes;
  const Kernel* kernel;
  std::uint8_t encrypt[max_rounds + 1][16];  // as KeySchedule::encrypt
  // Like GhashKey::powers: powers[max_powers - k] is for H^k, and the entries behind H^1 are zero.
  // The last four powers share a cache line.
  std::uint8_t powers[max_powers + 3][16];

  ShortGcmKey() noexcept { secure_zero(this, sizeof *this); }
  ~ShortGcmKey() { secure_zero(this, sizeof *this); }

  [[nodiscard]] const std::uint8_t* powers_end() const noexcept { return powers[max_powers]; }
};

// One of several messages that an operation processes at once, with its key. It has a nonce of 96
// bits, a tag of 128 bits, and no associated data.
struct GcmJob {
  const ShortGcmKey* key;
  GcmMessage message;
  // 12 bytes, then zeros. message.nonce must point here, so a job must not be copied or moved.
  alignas(16) std::array<std::uint64_t, 2> nonce;
  bool intact;  // set by gcm_open_many
};

// key_bytes is 16, 24 or 32.
using ExpandOperation = void(KeySchedule& schedule, const std::uint8_t* key, unsigned key_bytes);
// `blocks` blocks under one key.
using BlocksOperation = void(const KeySchedule&, const std::uint8_t* in, std::uint8_t* out,
                             std::size_t blocks);
// A BlocksOperation with the chain of CBC or the counter of CTR.
using ChainedOperation = void(const KeySchedule&, std::uint8_t chain[16], const std::uint8_t* in,
                              std::uint8_t* out, std::size_t blocks);
using XtsOperation = void(const KeySchedule&, std::uint8_t* tweaks, const std::uint8_t* in,
                          std::uint8_t* out, std::size_t units, std::size_t stride,
                          std::size_t blocks);
using GcmOperation = void(const KeySchedule&, const GhashKey&, GcmCounter& counter,
                          std::uint8_t state[16], const std::uint8_t* in, std::uint8_t* out,
                          std::size_t blocks);

struct Kernel {
  std::string_view name;
  std::string_view variant = "";
  CpuFeatureSet needs = CpuFeatureSet();
  Timing timing;

  ExpandOperation* expand;

  // SP 800-38A 6.1.
  BlocksOperation* ecb_encrypt;
  BlocksOperation* ecb_decrypt;

  // SP 800-38A 6.2. `chain` is the previous ciphertext block, first the IV, and is set to the last
  // one. Encryption is serial. It is an operation here because composing it from ECB would take one
  // call per block.
  ChainedOperation* cbc_encrypt;
  ChainedOperation* cbc_decrypt;

  // SP 800-38A 6.5: `chain`, the counter, has 128 bits, big-endian, and is set to the next unused
  // value. It is public: kernels branch on it, and look up tables by its last byte.
  ChainedOperation* ctr;

  // Like the operations without this ending, with non-temporal stores; out is not in. Where out is
  // not aligned to 16 bytes, the stores are ordinary ones. GCM uses ordinary ones as well if the
  // counter is secret or not 2 modulo 32. May be nullptr.
  ChainedOperation* ctr_nontemporal = nullptr;
  BlocksOperation* ecb_encrypt_nontemporal = nullptr;
  BlocksOperation* ecb_decrypt_nontemporal = nullptr;
  ChainedOperation* cbc_decrypt_nontemporal = nullptr;
  XtsOperation* xts_encrypt_nontemporal = nullptr;
  XtsOperation* xts_decrypt_nontemporal = nullptr;
  GcmOperation* gcm_encrypt_nontemporal = nullptr;
  GcmOperation* gcm_decrypt_nontemporal = nullptr;

  // Sets tweaks[16 u] to the encrypted tweak of data unit number + u (IEEE 1619 section 5.1), for
  // units ≥ 1. `number` has 128 bits, little-endian, and does not overlap `tweaks`. If units > 1,
  // tweaks has room for `units` blocks, rounded up to a multiple of xts_tweak_group, and all of it
  // may be written. May be nullptr.
  void (*xts_tweaks)(const KeySchedule&, const std::uint8_t number[16], std::uint8_t* tweaks,
                     std::size_t units) = nullptr;

  // IEEE 1619 section 5.3 without ciphertext stealing: `units` data units of `blocks` whole blocks
  // each, which start `stride` bytes apart in `in` and `out`. tweaks[16 u] is the encrypted tweak
  // of unit u; that of the last unit is set to the tweak of the block after it, for stealing.
  XtsOperation* xts_encrypt = nullptr;
  XtsOperation* xts_decrypt = nullptr;

  // SP 800-38D 6.4: state = (state ^ X1) H ^ …; ghash_init prepares H.
  void (*ghash_init)(GhashKey&, const std::uint8_t h[16]);
  void (*ghash)(const GhashKey&, std::uint8_t state[16], const std::uint8_t* data,
                std::size_t blocks);

  // CTR with inc32 (SP 800-38D 6.5) and GHASH of the ciphertext in one pass.
  GcmOperation* gcm_encrypt = nullptr;
  GcmOperation* gcm_decrypt = nullptr;

  // A whole message in one call. Libraries without GHASH need it; for short messages it is faster
  // than separate calls. Its nonce has at most max_library_nonce_bytes bytes. gcm_seal writes the
  // tag. gcm_open returns whether expected_tag matches; if not, `out` is unspecified.
  void (*gcm_seal)(const KeySchedule&, const GhashKey&, const GcmMessage&) = nullptr;
  bool (*gcm_open)(const KeySchedule&, const GhashKey&, const GcmMessage&) = nullptr;

  // A kernel has all of the following five, or all are nullptr. With them, messages of up to
  // max_short_bytes bytes are faster than with gcm_seal and gcm_open.
  std::size_t max_short_bytes = 0;

  // Expands `count` keys of key_bytes bytes each. `powers`: for how many blocks of a message, the
  // lengths included, there will be powers of H; at most ShortGcmKey::max_powers.
  void (*gcm_expand)(ShortGcmKey* keys, const std::uint8_t* const* bytes, unsigned key_bytes,
                     std::size_t count, unsigned powers) = nullptr;

  // Like gcm_seal and gcm_open, with a nonce of 96 bits. The key has powers for the blocks of the
  // text and of the associated data, whichever are more, or ShortGcmKey::max_powers.
  void (*gcm_seal_short)(const ShortGcmKey&, const GcmMessage&) = nullptr;
  bool (*gcm_open_short)(const ShortGcmKey&, const GcmMessage&) = nullptr;

  // Seal or open each of `count` messages, some of them interleaved. No `in` overlaps the `out` of
  // another message.
  void (*gcm_seal_many)(GcmJob* jobs, std::size_t count) = nullptr;
  void (*gcm_open_many)(GcmJob* jobs, std::size_t count) = nullptr;
};

// The kernels of the table in registry.cpp. Each is defined in a file of its own.
extern const Kernel reference_kernel;
extern const Kernel ttable_kernel;
extern const Kernel bitslice_kernel;
extern const Kernel openssl_kernel;
#if defined(__x86_64__)
extern const Kernel bitslice_avx2_kernel;
extern const Kernel bitslice_avx512_kernel;
extern const Kernel aesni_kernel;
extern const Kernel vaes256_kernel;
extern const Kernel vaes512_kernel;
#elif defined(__AARCH64EL__)
extern const Kernel armv8_kernel;
extern const Kernel armv8_eor3_kernel;
extern const Kernel bitslice_neon_kernel;
#endif

}  // namespace paraes
