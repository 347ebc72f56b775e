// Tests of the harness: statistics, the shuffle, sampling, phases, and cases that skip or fail.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/harness/measure.hpp"
#include "bench/harness/random.hpp"
#include "bench/harness/statistics.hpp"
#include "tests/bench/fake_case.hpp"
#include "tests/gpu/expect_has.hpp"

namespace paraes::bench {
namespace {

TEST(Statistics, KnownSamplesGiveMedianMadMinimumAndOutliers) {
  EXPECT_EQ(median_of({7}), 7);
  EXPECT_EQ(median_of({4, 1, 3, 2}), 2.5);
  // Deviations from the median 3: 2, 1, 0, 1, 97.
  const Statistics s = statistics_of({1, 2, 3, 4, 100});
  EXPECT_EQ(s.median, 3);
  EXPECT_EQ(s.mad, 1);
  EXPECT_EQ(s.min, 1);
  // The limit is 3 + 5 * 1.4826 * 1 = 10.41.
  EXPECT_TRUE(statistics_of({1, 2, 3, 4, 10.4}).outliers.empty());
  EXPECT_EQ(statistics_of({10.5, 1, 2, 3, 4}).outliers, std::vector<std::size_t>{0});
  // Equal samples, whose deviation is 0, can have outliers as well.
  const Statistics equal = statistics_of({1000, 1000, 1000, 1004, 1006});
  EXPECT_EQ(equal.mad, 0);
  EXPECT_EQ(equal.outliers, std::vector<std::size_t>{4});
  EXPECT_TRUE(statistics_of({}).outliers.empty());
}

TEST(Statistics, MedianIntervalsAreOrderStatistics) {
  // From tables of the sign test: how many values at each end are not needed for 95 %.
  const std::pair<std::size_t, int> cases[] = {{1, 0},  {5, 0},  {6, 0},  {8, 0},    {9, 1},
                                               {11, 1}, {12, 2}, {20, 5}, {100, 39}, {5000, 2430}};
  for (const auto& [n, dropped] : cases) {
    std::vector<double> values(n);
    std::iota(values.rbegin(), values.rend(), 0);
    const Interval interval = median_interval(values);
    EXPECT_EQ(interval.low, dropped) << n;
    EXPECT_EQ(interval.high, static_cast<double>(n) - 1 - dropped) << n;
  }
}

TEST(Random, ShuffleIsAPermutationThatTheSeedDecides) {
  std::vector<int> a(100);
  std::iota(a.begin(), a.end(), 0);
  std::vector<int> b = a;
  std::vector<int> c = a;
  const std::vector<int> sorted = a;
  Random(1).shuffle(a);
  Random(1).shuffle(b);
  Random(2).shuffle(c);
  EXPECT_EQ(a, b);
  EXPECT_NE(a, c);
  EXPECT_NE(a, sorted);
  std::sort(a.begin(), a.end());
  EXPECT_EQ(a, sorted);
}

TEST(Random, NextIsSplitMix64) {
  // First outputs of the reference implementation for seed 1234567.
  Random random(1234567);
  EXPECT_EQ(random.next(), 6457827717110365317U);
  EXPECT_EQ(random.next(), 3203168211198807973U);
}

class Measure : public testing::Test {
 protected:
  Group group_;
  Settings settings_{3, 0, 1, 1000};

  Fake& add(const std::string& name) {
    group_.push_back(std::make_unique<Fake>(name));
    return static_cast<Fake&>(*group_.back());
  }

  Outcome run(std::uint64_t seed = 1) {
    Random random(seed);
    EnergyMeter energy;
    return measure(group_, settings_, random, energy, [](double, const Row&) {});
  }
};
using Phases = Measure;

TEST_F(Measure, TakesTheRequestedNumberOfSamples) {
  add("a");
  add("b");
  settings_.samples = 7;
  const Outcome outcome = run();
  ASSERT_EQ(outcome.results.size(), 2U);
  for (const Result& result : outcome.results) {
    EXPECT_EQ(result.samples_ns.size(), 7U);
    EXPECT_TRUE(result.verified);
    EXPECT_GT(result.statistics.median, 0);
  }
  settings_ = Settings{3, 0.001, 1, 1000};  // a minimum time adds samples
  EXPECT_GT(run().results[0].samples_ns.size(), 3U);
}

TEST_F(Measure, EachRoundHasEveryCaseInShuffledOrder) {
  std::string order;
  // One call a sample.
  settings_ = Settings{20, 0, 0, 0};
  for (const char* name : {"a", "b", "c"}) add(name).on_call = [&order, name] { order += name; };
  (void)run();
  order = order.substr(3);  // leaves out calibration
  ASSERT_EQ(order.size(), 60U);
  int in_order = 0;
  for (std::size_t i = 0; i < order.size(); i += 3) {
    std::string round = order.substr(i, 3);
    in_order += round == "abc" ? 1 : 0;
    std::sort(round.begin(), round.end());
    EXPECT_EQ(round, "abc") << "round " << i / 3;
  }
  EXPECT_LT(in_order, 15);
}

TEST_F(Measure, CasesRestBeforeTheCallsOfOthers) {
  std::string order;
  settings_ = Settings{5, 0, 1, 0};
  for (const char* name : {"a", "b"}) {
    Fake& fake = add(name);
    fake.on_call = [&order, name] { order += name; };
    fake.on_verify = [&order, name] { return order += name, true; };
    fake.on_rest = [&order] { order += '.'; };
  }
  (void)run();
  EXPECT_LACKS(order, "ab");
  EXPECT_LACKS(order, "ba");
  EXPECT_EQ(std::count(order.begin(), order.end(), '.'), 2 * (1 + 5 + 1)) << order;
}

TEST_F(Measure, ShortCallsAreBatchedAndFollowARestore) {
  Fake& fake = add("a");
  fake.restores = true;
  settings_ = Settings{1, 0, 0, 1e6};
  (void)run();
  EXPECT_GT(fake.calls, 100);
  EXPECT_EQ(fake.restored, fake.calls);
}

TEST_F(Measure, LongCallsAreNotWarmedUpUnlessAsked) {
  for (const bool is_long : {false, true}) {
    group_.clear();
    Fake& fake = add("a");
    int lead_ins = 0;
    fake.on_lead_in = [&lead_ins] { ++lead_ins; };
    settings_ = Settings{3, 0, std::nullopt, 0};
    settings_.long_call_ns = is_long ? 0 : 1e15;
    (void)run();
    EXPECT_EQ(fake.calls, is_long ? 1 + 3 : 1 + 1 + 3);
    EXPECT_EQ(lead_ins, is_long ? 0 : 3);
    settings_.warmup = 2;
    (void)run();
    EXPECT_EQ(fake.calls, (is_long ? 4 : 5) + 1 + 2 + 3);
  }
}

TEST_F(Measure, SkippedCaseIsListedWithReason) {
  Fake& fake = add("a");
  fake.on_set_up = [] { throw Skip("no room"); };
  add("b");
  const Outcome outcome = run();
  ASSERT_EQ(outcome.skipped.size(), 1U);
  EXPECT_EQ(outcome.skipped[0].reason, "no room");
  EXPECT_EQ(outcome.skipped[0].row.kernel, "a");
  ASSERT_EQ(outcome.results.size(), 1U);
  EXPECT_EQ(outcome.results[0].row.kernel, "b");
}

TEST_F(Measure, WrongResultsAndThrowingCallsAreNotVerified) {
  int left = 4;
  settings_ = Settings{20, 0, 0, 0};
  add("a").on_call = [&left] {
    if (left-- == 0) throw std::runtime_error("tag");
  };
  add("b");
  add("c").on_verify = [] { return false; };
  const Outcome outcome = run();
  EXPECT_FALSE(outcome.results[0].verified);
  EXPECT_FALSE(outcome.results[2].verified);
  EXPECT_EQ(outcome.results[0].error, "tag");
  EXPECT_LT(outcome.results[0].samples_ns.size(), 20U);
  EXPECT_TRUE(outcome.results[1].verified);
  EXPECT_EQ(outcome.results[1].samples_ns.size(), 20U);
}

TEST_F(Measure, ResultsThatNobodyCanVerifyAreNotWrongUnlessTheyFail) {
  const auto nobody_can = []() -> bool { throw Unverifiable("it stores nothing"); };
  add("a").on_verify = nobody_can;
  int left = 4;
  auto& failing = add("b");
  failing.on_verify = nobody_can;
  failing.on_call = [&left] {
    if (left-- == 0) throw std::runtime_error("lost");
  };
  const Outcome outcome = run();
  EXPECT_FALSE(outcome.results[0].verified);
  EXPECT_EQ(outcome.results[0].unverifiable, "it stores nothing");
  EXPECT_FALSE(is_wrong(outcome.results[0]));
  EXPECT_TRUE(is_wrong(outcome.results[1]));
}

using Samples = std::vector<double>;

// Makes a case report a time of the phase `read` for each call: `ns`, in order, during samples, and
// one second before them, in calibration, warm-up and lead-ins.
class ReadPhase {
 public:
  ReadPhase(Fake& fake, Samples ns) : fake_(fake), ns_(std::move(ns)) {
    fake_.on_lead_in = [this] {
      spend(1e9);
      sampling_ = true;
    };
    fake_.on_call = [this] { spend(sampling_ ? ns_.at(sample_++) : 1e9); };
  }

 private:
  void spend(double ns) { fake_.phases["read"] += ns; }

  Fake& fake_;
  Samples ns_;
  bool sampling_ = false;
  std::size_t sample_ = 0;
};

TEST_F(Phases, TimelineHasTheSamplesAndTheirMedian) {
  // One call for each sample, after one for calibration and three for warm-up.
  settings_ = Settings{5, 0, 3, 0};
  const Samples ns = {7, 1, 100, 3, 2};
  const ReadPhase read_phase(add("a"), ns);
  const Outcome outcome = run();
  const Result& result = outcome.results[0];
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(result.timeline_samples_ns, (PhaseSamples{{"read", ns}}));
  EXPECT_EQ(result.samples_ns.size(), ns.size());
  EXPECT_EQ(result.timeline, (PhaseNanoseconds{{"read", 3}}));
}

TEST_F(Phases, PhasesOfASampleAreDividedByItsCalls) {
  Fake& fake = add("a");
  fake.on_call = [&] { fake.phases["scatter"] += 2; };
  settings_ = Settings{4, 0, 0, 1e5};
  const Result result = run().results[0];
  EXPECT_GT(fake.calls, 100);
  EXPECT_EQ(result.timeline_samples_ns.at("scatter"), Samples(4, 2));
  EXPECT_EQ(result.timeline.at("scatter"), 2);
}

TEST_F(Phases, PhasesThatSomeSamplesLackAreOmitted) {
  Fake& fake = add("a");
  fake.on_call = [&] {
    fake.phases["read"] += 1;
    if (fake.calls % 2 == 0) fake.phases["write"] += 1;
  };
  settings_ = Settings{4, 0, 0, 0};
  const Result result = run().results[0];
  EXPECT_EQ(result.timeline_samples_ns.at("read").size(), 4U);
  EXPECT_FALSE(result.timeline_samples_ns.contains("write"));
  EXPECT_FALSE(result.timeline.contains("write"));
}

TEST_F(Phases, KernelAloneIsTheMedianCall) {
  add("a").kernel_alone = true;
  add("b");
  const Outcome outcome = run();
  EXPECT_EQ(outcome.results[0].timeline.at("kernel"), outcome.results[0].statistics.median);
  EXPECT_FALSE(outcome.results[0].timeline_samples_ns.contains("kernel"));
  EXPECT_FALSE(outcome.results[1].timeline.contains("kernel"));
}

TEST_F(Phases, KeyExpansionHasNineSamples) {
  add("a").on_expand_key = [] { return true; };
  const Result result = run().results[0];
  Samples samples = result.timeline_samples_ns.at("key_expansion");
  ASSERT_EQ(samples.size(), 9U);
  EXPECT_GT(*std::min_element(samples.begin(), samples.end()), 0);
  EXPECT_EQ(result.timeline.at("key_expansion"), median_of(std::move(samples)));
}

TEST_F(Phases, KeyExpansionMeasuredByTheCaseIsReported) {
  Fake& fake = add("a");
  // One expansion for each sample, after one to see whether there is a key and one to calibrate.
  const double spent[] = {1e9, 1e9, 9, 8, 7, 600, 5, 4, 3, 2, 1};
  std::size_t next = 0;
  fake.on_expand_key = [&] {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    fake.phases["key_expansion"] += next < std::size(spent) ? spent[next] : 1e9;
    ++next;
    return true;
  };
  const Result result = run().results[0];
  EXPECT_EQ(next, std::size(spent));
  EXPECT_EQ(result.timeline_samples_ns.at("key_expansion"), (Samples{9, 8, 7, 600, 5, 4, 3, 2, 1}));
  EXPECT_EQ(result.timeline.at("key_expansion"), 5);
}

TEST_F(Phases, FailedRowKeepsThePhasesOfItsSamples) {
  settings_ = Settings{20, 0, 0, 0};
  Fake& fake = add("a");
  fake.kernel_alone = true;
  fake.on_call = [&] {
    fake.phases["read"] += 5;
    if (fake.calls > 3) throw std::runtime_error("tag");
  };
  Fake& hopeless = add("b");
  hopeless.kernel_alone = true;
  hopeless.on_call = [] { throw std::runtime_error("tag"); };
  const Outcome outcome = run();
  EXPECT_EQ(outcome.results[0].timeline_samples_ns.at("read"), Samples(2, 5));
  EXPECT_EQ(outcome.results[0].samples_ns.size(), 2U);
  EXPECT_TRUE(outcome.results[1].samples_ns.empty());
  EXPECT_FALSE(outcome.results[1].timeline.contains("kernel"));
}

TEST(Energy, MeterHasAReasonUnlessAvailable) {
  const EnergyMeter meter;
  EXPECT_EQ(meter.available(), meter.reason().empty());
}

}  // namespace
}  // namespace paraes::bench
