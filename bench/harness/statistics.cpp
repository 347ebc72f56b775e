#include "bench/harness/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace paraes::bench {

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

Interval median_interval(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  // The median lies below the k-th smallest value (from 0) with the probability that at most k of n
  // fair coins show heads. The interval leaves out `drop` values at each end.
  const double log_all = static_cast<double>(n) * std::log(2.0);
  double below = 0;
  double log_ways = 0;
  std::size_t drop = 0;
  for (std::size_t k = 0; 2 * k + 1 < n; ++k) {
    below += std::exp(log_ways - log_all);
    if (2 * below > 0.05) break;
    drop = k;
    log_ways += std::log(static_cast<double>(n - k)) - std::log(static_cast<double>(k + 1));
  }
  return {values[drop], values[n - 1 - drop]};
}

Statistics statistics_of(const std::vector<double>& samples) {
  Statistics result;
  if (samples.empty()) return result;
  result.median = median_of(samples);
  result.min = *std::min_element(samples.begin(), samples.end());
  std::vector<double> deviations;
  deviations.reserve(samples.size());
  for (const double sample : samples) deviations.push_back(std::abs(sample - result.median));
  result.mad = median_of(std::move(deviations));
  const double deviation = std::max(1.4826 * result.mad, 0.001 * result.median);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (samples[i] > result.median + 5 * deviation) result.outliers.push_back(i);
  }
  return result;
}

}  // namespace paraes::bench
