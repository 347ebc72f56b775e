#include "tests/ct/dudect/welch.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace paraes::dudect {

void Moments::add(double value) noexcept {
  count_ += 1;
  const double from_old = value - mean_;
  mean_ += from_old / count_;
  squares_ += from_old * (value - mean_);
}

double Moments::variance() const noexcept { return count_ < 2 ? 0 : squares_ / (count_ - 1); }

double welch_t(const Moments& a, const Moments& b) noexcept {
  if (a.count() < 2 || b.count() < 2) return 0;
  const double difference = a.mean() - b.mean();
  if (difference == 0) return 0;
  const double error = std::sqrt(a.variance() / a.count() + b.variance() / b.count());
  if (error == 0) return std::copysign(std::numeric_limits<double>::infinity(), difference);
  return difference / error;
}

Outcome farthest_t(std::span<const Measurement> measurements) {
  Outcome farthest = {0, 100};
  if (measurements.empty()) return farthest;
  std::vector<std::uint64_t> ticks;
  ticks.reserve(measurements.size());
  for (const Measurement& m : measurements) ticks.push_back(m.ticks);
  std::sort(ticks.begin(), ticks.end());
  for (const double percentile : percentiles) {
    const auto last = static_cast<std::size_t>(
        std::ceil(percentile / 100 * static_cast<double>(ticks.size())) - 1);
    Moments classes[2];
    for (const Measurement& m : measurements) {
      if (m.ticks <= ticks[last]) classes[m.input_class].add(static_cast<double>(m.ticks));
    }
    const double t = welch_t(classes[0], classes[1]);
    if (std::fabs(t) > std::fabs(farthest.t)) farthest = {t, percentile};
  }
  return farthest;
}

bool is_leak(std::span<const Outcome> outcomes) {
  return !outcomes.empty() &&
         std::all_of(outcomes.begin(), outcomes.end(),
                     [](const Outcome& outcome) { return std::fabs(outcome.t) >= least_t; });
}

}  // namespace paraes::dudect
