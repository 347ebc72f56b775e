// The modes on several threads: how each is cut into ranges, and how results are joined.
#pragma once

#include "src/core/executor.hpp"
#include "src/modes/ctr.hpp"
#include "src/modes/gcm.hpp"
#include "src/modes/xts.hpp"

namespace paraes {

// Handing a smaller range to a thread costs more than processing it.
inline constexpr std::size_t min_range_bytes = 16384;

// All modes but CBC encryption use non-temporal stores where they are faster and the kernel has
// them.

// Whether an operation on `bytes` bytes by `threads` threads should use non-temporal stores: if it
// does not work in place, and the caches cannot hold both input and output, or are slow to.
[[nodiscard]] bool use_nontemporal_stores(const void* in, const void* out, std::uint64_t bytes,
                                          int threads) noexcept;

// The kernel's operations for whole GCM messages process those of fewer bytes. Longer ones may gain
// from several threads, or from non-temporal stores if the kernel has them.
[[nodiscard]] std::uint64_t gcm_one_call_bytes(const Executor&, const Kernel&) noexcept;

// Blocks are independent.
void parallel_ecb(const Executor&, const CipherKey&, Direction, const std::uint8_t* in,
                  std::uint8_t* out, std::size_t blocks);

// Decryption: each range needs the ciphertext block before it, which is saved before any thread
// overwrites it in place.
void parallel_cbc_decrypt(const Executor&, const CipherKey&, std::uint8_t chain[16],
                          const std::uint8_t* in, std::uint8_t* out, std::size_t blocks);

// Counters are computed from the offset.
void parallel_ctr(const Executor&, const CipherKey&, const std::uint8_t initial[16],
                  std::uint64_t offset, const std::uint8_t* in, std::uint8_t* out,
                  std::size_t bytes);

// Cut between data units; one unit alone is serial.
void parallel_xts(const Executor&, const XtsKey&, Direction, const std::uint8_t first_unit[16],
                  std::size_t unit_bytes, const std::uint8_t* in, std::uint8_t* out,
                  std::size_t bytes);

// Each range is hashed separately, and join_hashes combines the hashes.
void parallel_gcm(const Executor&, const GcmKey&, Direction, const GcmCounter& first_counter,
                  std::uint8_t state[16], const std::uint8_t* in, std::uint8_t* out,
                  std::size_t bytes);

}  // namespace paraes
