// The clock that measures phase times.
#pragma once

#include <chrono>
#include <cstdint>

namespace paraes::cli {

using Clock = std::chrono::steady_clock;

[[nodiscard]] inline std::uint64_t nanoseconds_since(Clock::time_point start) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count());
}

}  // namespace paraes::cli
