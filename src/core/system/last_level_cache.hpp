// Asks the system about the last-level cache.
#pragma once

#include <cstdint>

namespace paraes::system {

struct LastLevelCache {
  std::uint64_t bytes = std::uint64_t{32} << 20;
  unsigned processors = 1;  // that share one cache
  unsigned count = 1;       // of such caches
};

// The defaults for what the system does not say.
[[nodiscard]] LastLevelCache find_last_level_cache() noexcept;

}  // namespace paraes::system
