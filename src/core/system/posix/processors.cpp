#include "src/core/system/processors.hpp"

#include <unistd.h>

#include <algorithm>

namespace paraes::system {

// POSIX does not know on which of them this process may run.
int available_cores() noexcept {
  return static_cast<int>(std::clamp(sysconf(_SC_NPROCESSORS_ONLN), 1L, 1L << 20));
}

// POSIX does not describe caches.
LastLevelCache find_last_level_cache() noexcept { return {}; }

void sleep_while(const std::atomic<std::uint32_t>& word, std::uint32_t value) noexcept {
  word.wait(value, std::memory_order_acquire);
}

void wake_sleeper(std::atomic<std::uint32_t>& word) noexcept { word.notify_one(); }

}  // namespace paraes::system
