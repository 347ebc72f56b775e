#include "src/core/system/last_level_cache.hpp"

namespace paraes::system {

// POSIX does not describe caches.
LastLevelCache find_last_level_cache() noexcept { return {}; }

}  // namespace paraes::system
