#include "src/core/cache.hpp"

#include <algorithm>

#include "src/core/system/processors.hpp"

namespace paraes {

std::uint64_t last_level_cache_bytes(int threads) noexcept {
  static const system::LastLevelCache cache = system::find_last_level_cache();
  const auto wanted = static_cast<unsigned>(std::max(threads, 1));
  const unsigned reached = (wanted + cache.processors - 1) / cache.processors;
  return cache.bytes * std::min(reached, cache.count);
}

}  // namespace paraes
