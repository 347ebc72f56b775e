// Measures the time of a phase.
#pragma once

#include <chrono>
#include <cstdint>

#include "src/core/non_copyable.hpp"

namespace paraes {

// Adds the duration of its own lifetime, in nanoseconds, to `sum`.
class Stopwatch : NonCopyable {
 public:
  explicit Stopwatch(std::uint64_t& sum) : sum_(sum) {}
  ~Stopwatch() {
    sum_ += static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start_).count());
  }

 private:
  using Clock = std::chrono::steady_clock;

  std::uint64_t& sum_;
  Clock::time_point start_ = Clock::now();
};

}  // namespace paraes
