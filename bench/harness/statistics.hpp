// Robust statistics of samples.
#pragma once

#include <cstddef>
#include <vector>

namespace paraes::bench {

struct Statistics {
  double median = 0;
  double mad = 0;  // median absolute deviation from the median, not scaled
  double min = 0;
  std::vector<std::size_t> outliers;  // indices of samples, ascending
};

// The middle value, or the mean of the two middle ones. `values` must not be empty.
[[nodiscard]] double median_of(std::vector<double> values);

struct Interval {
  double low = 0;
  double high = 0;
};

// An interval of order statistics that covers the true median with a probability of at least 95 %,
// whatever the distribution. Below `least_for_interval` samples it covers with less: it is then the
// range of the samples. `values` must not be empty.
constexpr std::size_t least_for_interval = 6;
[[nodiscard]] Interval median_interval(std::vector<double> values);

// An outlier lies more than five standard deviations above the median. The standard deviation is
// taken as 1.4826 MAD, its estimate for normal noise, but at least as 0.1 % of the median: equal
// samples have a MAD of zero, and the clock has a finite resolution. Outliers are marked, never
// dropped.
[[nodiscard]] Statistics statistics_of(const std::vector<double>& samples);

}  // namespace paraes::bench
