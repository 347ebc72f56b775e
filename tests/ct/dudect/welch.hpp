// Welch's t-test on the times of two classes of inputs, as in "Dude, is my code constant time?"
// (Reparaz, Balasch and Verbauwhede, DATE 2017).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace paraes::dudect {

struct Measurement {
  std::uint64_t ticks;
  unsigned input_class;  // 0 or 1
};

// Mean and variance of a growing number of values (Welford's algorithm).
class Moments {
 public:
  void add(double value) noexcept;
  [[nodiscard]] double count() const noexcept { return count_; }
  [[nodiscard]] double mean() const noexcept { return mean_; }
  [[nodiscard]] double variance() const noexcept;  // with n - 1; 0 for fewer than two values

 private:
  double count_ = 0;
  double mean_ = 0;
  double squares_ = 0;
};

// Welch's t, positive if the mean of `a` is the larger one. Means of values that do not vary differ
// by infinity or by 0.
[[nodiscard]] double welch_t(const Moments& a, const Moments& b) noexcept;

// Interrupts and other programs lengthen some measurements, so that each test uses only those up to
// a percentile of the times of both classes together.
inline constexpr std::array<double, 7> percentiles = {10, 30, 50, 75, 90, 99, 100};

struct Outcome {
  double t;           // the one that is farthest from zero
  double percentile;  // where it was cropped
};

[[nodiscard]] Outcome farthest_t(std::span<const Measurement> measurements);

// A leak is a t of at least this size in each of three runs. By chance, one of these tests reaches
// it once in two million.
inline constexpr double least_t = 5;
inline constexpr unsigned runs = 3;

[[nodiscard]] bool is_leak(std::span<const Outcome> outcomes);

}  // namespace paraes::dudect
