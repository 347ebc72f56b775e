// Processors: cores, their caches, and threads that sleep, as far as systems differ.
#pragma once

#include <atomic>
#include <cstdint>

namespace paraes::system {

// The cores that this process may use; at least 1.
[[nodiscard]] int available_cores() noexcept;

struct LastLevelCache {
  std::uint64_t bytes = std::uint64_t{32} << 20;
  unsigned processors = 1;  // that share one cache
  unsigned count = 1;       // of such caches
};

// The defaults for what the system does not say.
[[nodiscard]] LastLevelCache find_last_level_cache() noexcept;

// Returns when `word` differs from `value`, after a wake-up, or spuriously.
void sleep_while(const std::atomic<std::uint32_t>& word, std::uint32_t value) noexcept;

// Wakes one thread that sleeps on `word`. To be called after the change of `word`.
void wake_sleeper(std::atomic<std::uint32_t>& word) noexcept;

}  // namespace paraes::system
