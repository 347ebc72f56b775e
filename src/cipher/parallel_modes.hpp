// The modes over an executor: how each may be cut, and what the pieces need of each other.
#pragma once

#include "src/core/executor.hpp"
#include "src/modes/ctr.hpp"
#include "src/modes/gcm.hpp"
#include "src/modes/xts.hpp"

namespace paraes {

// Whether an operation over `bytes` bytes by `threads` threads had better store its output past the
// caches: when that is another buffer than the input, and both together are more than the caches
// hold.
[[nodiscard]] bool streams(const void* in, const void* out, std::uint64_t bytes,
                           int threads) noexcept;

// Blocks are independent.
void parallel_ecb(const Executor&, const CipherKey&, Direction, const std::uint8_t* in,
                  std::uint8_t* out, std::size_t blocks);

// Decryption: each run needs the ciphertext block before it, which is saved before any thread
// overwrites it in place.
void parallel_cbc_decrypt(const Executor&, const CipherKey&, std::uint8_t chain[16],
                          const std::uint8_t* in, std::uint8_t* out, std::size_t blocks);

// Counters are computed from the offset. Stores past the caches where that is faster and the kernel
// can.
void parallel_ctr(const Executor&, const CipherKey&, const std::uint8_t initial[16],
                  std::uint64_t offset, const std::uint8_t* in, std::uint8_t* out,
                  std::size_t bytes);

// Cut between data units; one unit alone is serial.
void parallel_xts(const Executor&, const XtsKey&, Direction, const std::uint8_t first_unit[16],
                  std::size_t unit_bytes, const std::uint8_t* in, std::uint8_t* out,
                  std::size_t bytes);

// Each run hashes from zero; a run of n blocks moves what came before it by H^n, so the partial
// hashes combine into that of the whole.
void parallel_gcm(const Executor&, const GcmKey&, Direction, const GcmCounter& first_counter,
                  std::uint8_t state[16], const std::uint8_t* in, std::uint8_t* out,
                  std::size_t bytes);

}  // namespace paraes
