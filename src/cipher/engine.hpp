// What the public mode objects keep: a kernel, an executor and a key, on the CPU and perhaps on
// GPUs. Here every run is sent to one of them.
#pragma once

#include <memory>
#include <string>

#include "paraes/ciphers.hpp"
#include "src/cipher/gpu_modes.hpp"
#include "src/cipher/parallel_modes.hpp"

namespace paraes {

namespace detail {

// Of the three kinds of CPU key exactly one is set: XTS has two AES keys, GCM a hash key. With
// `gpu`, they are for what the GPU has no part in.
struct Engine {
  const Kernel& kernel;
  Executor executor;
  std::unique_ptr<CipherKey> plain;
  std::unique_ptr<XtsKey> xts;
  std::unique_ptr<GcmKey> gcm;
  std::unique_ptr<GpuCipher> gpu;
  std::string fallback;  // why there is none

  explicit Engine(const Execution& execution);
};

}  // namespace detail

// Engines with a key for ECB, CBC and CTR; for XTS (both halves); for GCM. Throw InvalidArgument
// for a key of the wrong size, and what select_kernel throws.
[[nodiscard]] std::unique_ptr<detail::Engine> make_plain_engine(Bytes key,
                                                                const Execution& execution);
[[nodiscard]] std::unique_ptr<detail::Engine> make_xts_engine(Bytes key,
                                                              const Execution& execution);
[[nodiscard]] std::unique_ptr<detail::Engine> make_gcm_engine(Bytes key,
                                                              const Execution& execution);

// The modes over the device of the engine. Arguments are checked already; out is in or apart from
// it.
void run_ecb(const detail::Engine& engine, Direction direction, const std::uint8_t* in,
             std::uint8_t* out, std::size_t bytes);
// `chain` is left as the last ciphertext block.
void run_cbc_decrypt(const detail::Engine& engine, std::uint8_t chain[16], const std::uint8_t* in,
                     std::uint8_t* out, std::size_t bytes);
// From byte `offset` of the stream that starts with `initial`.
void run_ctr(const detail::Engine& engine, const std::uint8_t initial[16], std::uint64_t offset,
             const std::uint8_t* in, std::uint8_t* out, std::size_t bytes);
void run_xts(const detail::Engine& engine, Direction direction, const std::uint8_t first_unit[16],
             std::size_t unit_bytes, const std::uint8_t* in, std::uint8_t* out, std::size_t bytes);
// The text of a message from the block after j0 on, and its GHASH into `state`.
void run_gcm(const detail::Engine& engine, Direction direction, const GcmCounter& j0,
             std::uint8_t state[16], const std::uint8_t* in, std::uint8_t* out, std::size_t bytes);

// GCM of `in` to `out` (equal, or apart), spread over the engine's threads; tag has 16 bytes. Safe
// for several threads at once.
void gcm_seal(const detail::Engine& engine, Bytes nonce, Bytes aad, Bytes in, MutableBytes out,
              std::uint8_t* tag);

// False if the tag does not match: `out` is all zero then.
[[nodiscard]] bool gcm_open(const detail::Engine& engine, Bytes nonce, Bytes aad, Bytes in,
                            MutableBytes out, Bytes tag);

}  // namespace paraes
