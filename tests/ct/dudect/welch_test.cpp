// The statistics of the timing tests, on samples whose results are known.
#include "tests/ct/dudect/welch.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace paraes::dudect {
namespace {

Moments moments(std::initializer_list<double> values) {
  Moments m;
  for (const double value : values) m.add(value);
  return m;
}

TEST(Welch, MomentsOfLargeValuesKeepTheirDigits) {
  const Moments m = moments({1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16});
  EXPECT_DOUBLE_EQ(m.mean(), 1e9 + 10);
  EXPECT_DOUBLE_EQ(m.variance(), 30);
}

// scipy.stats.ttest_ind(a, b, equal_var=False).statistic, samples of unequal size and variance.
TEST(Welch, TOfTwoSamplesAsInScipy) {
  const Moments a = moments(
      {27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4});
  const Moments b = moments(
      {27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 30.5, 31.3});
  EXPECT_NEAR(welch_t(a, b), -2.949236837313109, 1e-12);
  EXPECT_NEAR(welch_t(b, a), 2.949236837313109, 1e-12);
}

TEST(Welch, TOfValuesThatDoNotVary) {
  EXPECT_EQ(welch_t(moments({3, 3}), moments({3, 3, 3})), 0);
  EXPECT_EQ(welch_t(moments({4, 4}), moments({3, 3})), std::numeric_limits<double>::infinity());
  EXPECT_EQ(welch_t(moments({2, 2}), moments({3, 3})), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(welch_t(moments({2}), moments({3, 4})), 0);
}

// Times of about 300 ticks, of which one in twenty is lengthened by up to a million.
std::vector<Measurement> simulated(unsigned seed, std::size_t count, double leak_ticks) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> usual(300, 20);
  std::uniform_real_distribution<double> interrupt(1000, 1e6);
  std::vector<Measurement> measurements;
  measurements.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto input_class = static_cast<unsigned>(random() % 2);
    double ticks = usual(random) + (input_class == 1 ? leak_ticks : 0);
    if (random() % 20 == 0) ticks += interrupt(random);
    measurements.push_back({static_cast<std::uint64_t>(ticks), input_class});
  }
  return measurements;
}

std::vector<Outcome> three_runs(unsigned seed, double leak_ticks) {
  std::vector<Outcome> outcomes;
  for (unsigned run = 0; run < runs; ++run) {
    outcomes.push_back(farthest_t(simulated(seed + run, 50'000, leak_ticks)));
  }
  return outcomes;
}

TEST(Welch, FindsTwoTicksAmongInterruptsAndNothingWhereNothingIs) {
  for (unsigned seed = 1; seed < 100; seed += 10) {
    SCOPED_TRACE(seed);
    const std::vector<Outcome> leaking = three_runs(seed, 2);
    EXPECT_TRUE(is_leak(leaking));
    for (const Outcome& outcome : leaking) EXPECT_LT(outcome.t, 0) << "class 1 is slower";
    for (const Outcome& outcome : three_runs(seed, 0)) EXPECT_LT(std::fabs(outcome.t), least_t);
  }
}

TEST(Welch, NeedsCroppingToFindALeakAmongInterrupts) {
  const std::vector<Measurement> measurements = simulated(7, 50'000, 2);
  Moments classes[2];
  for (const Measurement& m : measurements) {
    classes[m.input_class].add(static_cast<double>(m.ticks));
  }
  EXPECT_LT(std::fabs(welch_t(classes[0], classes[1])), least_t);
  EXPECT_LT(farthest_t(measurements).percentile, 100);
}

TEST(Welch, ALeakIsOneInEveryRun) {
  EXPECT_TRUE(is_leak(std::vector<Outcome>{{5, 90}, {-5, 90}, {80, 50}}));
  EXPECT_FALSE(is_leak(std::vector<Outcome>{{5, 90}, {4.9, 90}, {80, 50}}));
  EXPECT_FALSE(is_leak({}));
}

}  // namespace
}  // namespace paraes::dudect
