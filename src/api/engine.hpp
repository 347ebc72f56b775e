// What the public mode objects keep: a kernel, an executor and a key.
#pragma once

#include <memory>

#include "executors/parallel_modes.hpp"
#include "paraes/ciphers.hpp"

namespace paraes {

namespace detail {

// Of the three kinds of key exactly one is set: XTS has two AES keys, GCM a hash key.
struct Engine {
  const Kernel& kernel;
  Executor executor;
  std::unique_ptr<CipherKey> plain;
  std::unique_ptr<XtsKey> xts;
  std::unique_ptr<GcmKey> gcm;

  explicit Engine(const Execution& execution);
};

}  // namespace detail

// An engine with a GCM key. Throws InvalidArgument unless that has 16, 24 or 32 bytes.
[[nodiscard]] std::unique_ptr<detail::Engine> make_gcm_engine(Bytes key,
                                                              const Execution& execution);

// GCM of `in` to `out` (equal, or apart), spread over the engine's threads; tag has 16 bytes. Safe
// for several threads at once.
void gcm_seal(const detail::Engine& engine, Bytes nonce, Bytes aad, Bytes in, MutableBytes out,
              std::uint8_t* tag);

// False if the tag does not match: `out` is all zero then.
[[nodiscard]] bool gcm_open(const detail::Engine& engine, Bytes nonce, Bytes aad, Bytes in,
                            MutableBytes out, Bytes tag);

}  // namespace paraes
