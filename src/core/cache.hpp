// The caches of this machine.
#pragma once

#include <cstdint>

namespace paraes {

// What the last-level caches hold that `threads` threads reach, if they fill one after the other: a
// machine may have several, each shared by a few processors. 32 MiB each where the system does not
// say.
[[nodiscard]] std::uint64_t last_level_cache_bytes(int threads) noexcept;

}  // namespace paraes
