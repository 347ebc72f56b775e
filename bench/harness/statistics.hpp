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

// The middle value, or the mean of the two middle ones; `values` is not empty.
[[nodiscard]] double median_of(std::vector<double> values);

// An outlier lies more than five standard deviations above the median, where 1.4826 MAD estimates
// the standard deviation of normal noise, but at least 0.1 % of the median (equal samples have a
// MAD of zero, and the clock a resolution). Outliers are marked here and dropped nowhere.
[[nodiscard]] Statistics statistics_of(const std::vector<double>& samples);

}  // namespace paraes::bench
