// The caches of this machine.
#pragma once

#include <cstdint>

namespace paraes {

// Total size in bytes of the last-level caches that `threads` threads use, if they occupy the
// processors of one cache before those of the next. A machine may have several, each shared by a
// few processors. Assumes 32 MiB for each processor if the system does not tell.
[[nodiscard]] std::uint64_t last_level_cache_bytes(int threads) noexcept;

}  // namespace paraes
