// The caches of this machine.
#pragma once

#include <algorithm>
#include <cstdint>

#include "src/core/system/processors.hpp"

namespace paraes {

// Total size in bytes of the last-level caches that `threads` threads use, if they occupy the
// processors of one cache before those of the next. A machine may have several, each shared by a
// few processors. Assumes 32 MiB for each processor if the system does not tell.
[[nodiscard]] inline std::uint64_t last_level_cache_bytes(int threads) noexcept {
  static const system::LastLevelCache cache = system::find_last_level_cache();
  const auto wanted = static_cast<unsigned>(std::max(threads, 1));
  const unsigned reached = (wanted + cache.processors - 1) / cache.processors;
  return cache.bytes * std::min(reached, cache.count);
}

}  // namespace paraes
