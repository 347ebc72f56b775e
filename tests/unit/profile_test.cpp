// The profile of `paraes tune`: which numbers are accepted, and what is chosen by them.

#include "cli/plan/profile.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "bench/axes.hpp"
#include "cli/words/numbers.hpp"
#include "cli/words/sizes.hpp"
#include "paraes/error.hpp"
#include "tests/support/message_of.hpp"

namespace paraes::cli {
namespace {

using support::throws;

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) throw InvalidArgument("the test replaces nothing: " + from);
  return text.replace(at, from.size(), to);
}

Profile sample() {
  Profile profile = new_profile();
  const std::string kernel(select_kernel("auto").name);
  profile.devices = {
      {.id = "cpu", .name = "n", .driver = "d", .start_seconds = {0.25, 0.125, 0.5}}};
  profile.rates = {{{"cpu", kernel}, 1024, {1e9, 0.5e9, 2e9}},
                   {{"cpu", kernel}, 4096, {3e9, 2e9, 4e9}}};
  return profile;
}

void expect_refused(const std::string& text, const std::string& why) {
  SCOPED_TRACE(text);
  EXPECT_TRUE(throws<InvalidArgument>([&] { return parse_profile(text); }, why));
}

TEST(Profile, ThatWasStored_IsReadBack) {
  const Profile profile = parse_profile(to_json(sample()));
  EXPECT_EQ(why_stale(profile), "");
  ASSERT_EQ(profile.devices.size(), 1U);
  EXPECT_EQ(profile.devices[0].start_seconds.median, 0.25);
  EXPECT_EQ(profile.devices[0].start_seconds.low, 0.125);
  EXPECT_EQ(profile.devices[0].start_seconds.high, 0.5);
  ASSERT_EQ(profile.rates.size(), 2U);
  EXPECT_EQ(profile.rates[1].bytes, 4096U);
  EXPECT_EQ(profile.rates[1].bytes_per_second.median, 3e9);
  EXPECT_EQ(profile.rates[1].bytes_per_second.low, 2e9);
  EXPECT_EQ(profile.rates[1].bytes_per_second.high, 4e9);
  EXPECT_EQ(profile.cores, sample().cores);
}

TEST(Profile, NumbersThatDoNotFit_AreRefused) {
  const std::string text = to_json(sample());
  const std::string cores = "\"cores\": " + std::to_string(sample().cores);
  for (const char* number : {"2.2e20", "1e400", "-1", "-4294967295", "1.5", "1.0", "1e0", "\"1\"",
                             "null", "true", "[1]", "4294967297", "18446744073709551616"}) {
    expect_refused(replaced(text, "\"schema\": 2", std::string("\"schema\": ") + number), "");
    expect_refused(replaced(text, cores, std::string("\"cores\": ") + number), "");
    if (std::string(number) == "4294967297") continue;  // a size
    expect_refused(replaced(text, "\"bytes\": 1024", std::string("\"bytes\": ") + number), "");
  }
  for (const char* number : {"0", "9007199254740993", "18446744073709551615"}) {
    expect_refused(replaced(text, "\"bytes\": 1024", std::string("\"bytes\": ") + number),
                   "'bytes'");
  }
  expect_refused(replaced(text, cores, "\"cores\": 0"), "'cores'");
  expect_refused(replaced(text, cores, "\"cores\": 2147483648"), "'cores'");
  for (const char* number : {"-0.5", "-1", "1e400", "-1e400", "\"1\"", "null", "true", "[]"}) {
    expect_refused(replaced(text, "0.25", number), "");
    expect_refused(replaced(text, "1000000000.0", number), "");
  }
  expect_refused(replaced(text, "500000000.0", "0"), "'bytes_per_second_low'");
  expect_refused(replaced(text, "500000000.0", "1e-400"), "'bytes_per_second_low'");
}

TEST(Profile, IntervalsThatAreMissingOrExcludeTheirNumber_AreRefused) {
  const std::string text = to_json(sample());
  expect_refused(replaced(text, "_seconds_low", "_seconds_least"), "'start_seconds_low'");
  expect_refused(replaced(text, "_second_high", "_second_most"), "'bytes_per_second_high'");
  expect_refused(replaced(text, "0.125", "0.375"), "'start_seconds'");
  expect_refused(replaced(text, "0.5", "0.24"), "'start_seconds'");
  expect_refused(replaced(text, "500000000.0", "1000000001.0"), "'bytes_per_second'");
  expect_refused(replaced(text, "2000000000.0", "999999999.0"), "'bytes_per_second'");
}

TEST(Profile, OfTheFormerSchema_IsRefusedAsSuch) {
  const std::string text = replaced(to_json(sample()), "\"schema\": 2", "\"schema\": 1");
  EXPECT_THROW(static_cast<void>(parse_profile(text)), OtherSchema);
}

// Constant-time kernels that this machine can run, in the order of the table.
std::vector<std::string> constant_kernels() {
  std::vector<std::string> names;
  for (const KernelInfo& kernel : kernels()) {
    if (kernel.available && kernel.timing == Timing::constant) names.emplace_back(kernel.name);
  }
  return names;
}

struct Measured {
  std::string device;
  std::string kernel;
  double low;
  double rate;
  double high;
};

// A made-up profile of one size.
Profile profile_of(const std::vector<Measured>& rates) {
  Profile profile = new_profile();
  for (const Measured& one : rates) {
    if (profile.devices.empty() || profile.devices.back().id != one.device) {
      profile.devices.push_back({.id = one.device, .name = "n", .driver = "d"});
    }
    profile.rates.push_back({{one.device, one.kernel}, 1024, {one.rate, one.low, one.high}});
  }
  return profile;
}

using Names = std::vector<std::string>;

TEST(Profile, OverlappingIntervals_KeepTheOrderOfKernels) {
  const Names names = constant_kernels();
  if (names.size() < 2) GTEST_SKIP() << "this machine has one such kernel";
  // The later kernel has the higher rate each time, and in another order of the list.
  for (const auto& [low, high] : {std::pair(0.5, 9.0), std::pair(1.9, 2.1), std::pair(2.0, 8.0)}) {
    const Profile profile =
        profile_of({{"cpu", names[1], low, 2.05, high}, {"cpu", names[0], 0.9, 1, 2.0}});
    const auto choice = choose_kernel(profile, "cpu", 1024, false);
    ASSERT_TRUE(choice);
    EXPECT_EQ(choice->kernel, names[0]) << low;
    EXPECT_EQ(choice->ties, Names{names[1]});
    EXPECT_EQ(choose(profile, 1024, false)->kernel, names[0]);
    EXPECT_EQ(choose(profile, 1024, false)->ties, Names{names[1]});
  }
}

TEST(Profile, FirstKernelThatNoOtherIsFasterThan_IsChosenAmongThree) {
  const Names names = constant_kernels();
  if (names.size() < 3) GTEST_SKIP() << "this machine has fewer than three such kernels";
  // The third is faster than the first, but neither of them than the second.
  const auto choice = choose_kernel(
      profile_of(
          {{"cpu", names[0], 1, 3, 5}, {"cpu", names[1], 4, 6, 9}, {"cpu", names[2], 6, 6.5, 7}}),
      "cpu", 1024, false);
  EXPECT_EQ(choice->kernel, names[1]);
  EXPECT_EQ(choice->ties, (Names{names[0], names[2]}));
}

TEST(Profile, KernelThatIsFasterBeyondDoubt_IsChosenAndSure) {
  const Names names = constant_kernels();
  if (names.size() < 2) GTEST_SKIP() << "this machine has one such kernel";
  const auto choice =
      choose_kernel(profile_of({{"cpu", names[0], 0.9, 1, 2.0}, {"cpu", names[1], 2.01, 3, 4}}),
                    "cpu", 1024, false);
  EXPECT_EQ(choice->kernel, names[1]);
  EXPECT_TRUE(choice->ties.empty());
  // An interval may be a point; equal ones are no proof.
  EXPECT_EQ(choose_kernel(profile_of({{"cpu", names[0], 1, 1, 1}, {"cpu", names[1], 1, 1, 1}}),
                          "cpu", 1024, false)
                ->kernel,
            names[0]);
  EXPECT_TRUE(
      choose_kernel(profile_of({{"cpu", names[1], 0.1, 1, 9}}), "cpu", 1024, false)->ties.empty());
}

TEST(Profile, BoundsAreInterpolatedLikeRates) {
  const Names names = constant_kernels();
  if (names.size() < 2) GTEST_SKIP() << "this machine has one such kernel";
  Profile profile = profile_of({{"cpu", names[0], 1, 2, 3}, {"cpu", names[1], 1, 2, 3}});
  profile.rates.push_back({{"cpu", names[0]}, 4096, {2, 1, 3}});
  profile.rates.push_back({{"cpu", names[1]}, 4096, {8, 6, 10}});
  const auto kernel = [&](std::uint64_t bytes) {
    return choose_kernel(profile, "cpu", bytes, false)->kernel;
  };
  // The lower bound of the second is 1 at 1024 and 6 at 4096: above 3 from 1024 * 4^(2/5) on.
  EXPECT_EQ(kernel(1024), names[0]);
  EXPECT_EQ(kernel(1782), names[0]);
  EXPECT_EQ(kernel(1784), names[1]);
  EXPECT_EQ(kernel(1 << 20), names[1]);
  const auto half_way = choose_kernel(profile, "cpu", 2048, false);
  EXPECT_DOUBLE_EQ(half_way->bytes_per_second.low, 3.5);
  EXPECT_DOUBLE_EQ(half_way->bytes_per_second.high, 6.5);
  EXPECT_DOUBLE_EQ(half_way->bytes_per_second.median, 5);
}

TEST(Profile, GpuDisplacesTheCpuOnlyBeyondDoubt) {
  const std::string cpu = constant_kernels()[0];
  Profile profile =
      profile_of({{"cpu", cpu, 0.5e3, 1e3, 2e3}, {"cuda:0", "bitslice", 4e3, 8e3, 9e3}});
  const auto device = [&] { return choose(profile, 1000, false)->device; };
  EXPECT_EQ(device(), "cuda:0");  // at most 0.25 s against at least 0.5 s
  EXPECT_TRUE(choose(profile, 1000, false)->device_ties.empty());
  profile.devices[1].start_seconds = {0.2, 0.1, 0.24};
  EXPECT_EQ(device(), "cuda:0");
  profile.devices[1].start_seconds.high = 0.26;
  EXPECT_EQ(device(), "cpu");
  const auto choice = choose(profile, 1000, false);
  EXPECT_EQ(choice->device_ties, Names{"cuda:0"});
  EXPECT_EQ(choice->other, "cuda:0");
}

TEST(Profile, KernelsThatLeakOrAreMissing_AreNeitherChosenNorTies) {
  const std::string cpu = constant_kernels()[0];
  const Profile profile = profile_of({{"cpu", cpu, 1, 1, 1},
                                      {"cpu", "ttable", 9, 9, 9},
                                      {"cpu", "vector9000", 9, 9, 9},
                                      {"cuda:0", "ttable", 1, 9, 9},
                                      {"cuda:0", "bitslice", 1, 1, 9}});
  EXPECT_EQ(choose_kernel(profile, "cpu", 1024, true)->kernel, cpu);
  EXPECT_TRUE(choose_kernel(profile, "cpu", 1024, true)->ties.empty());
  EXPECT_EQ(choose_kernel(profile, "cuda:0", 1024, false)->kernel, "bitslice");
  EXPECT_TRUE(choose_kernel(profile, "cuda:0", 1024, false)->ties.empty());
  EXPECT_EQ(choose_kernel(profile, "cuda:0", 1024, true)->kernel, "ttable");
  EXPECT_EQ(choose_kernel(profile, "cuda:0", 1024, true)->ties, Names{"bitslice"});
}

TEST(Profile, TuningOfAKernel_IsChosenAtTheSizesAtWhichItWasMeasured) {
  Profile profile = profile_of({{"cuda:0", "bitslice", 0.9, 1, 1.1}});
  const std::string tuning = "streams=24,launch=2048KiB";
  profile.rates.push_back({{"cuda:0", "bitslice"}, 4096, {1, 0.9, 1.1}});
  profile.rates.push_back({{"cuda:0", "bitslice", tuning}, 4096, {2, 1.2, 3}});
  profile.rates.push_back({{"cuda:0", "bitslice", "groups=2"}, 4096, {2, 1.0, 3}});
  const auto choice = choose_kernel(profile, "cuda:0", 4096, false);
  EXPECT_EQ(choice->kernel, "bitslice");
  EXPECT_EQ(choice->gpu_tuning, tuning);
  EXPECT_EQ(choice->ties, Names{"bitslice with groups=2"});
  EXPECT_EQ(choose(profile, 4096, false)->gpu_tuning, tuning);
  // Nobody has measured it with smaller messages.
  EXPECT_EQ(choose_kernel(profile, "cuda:0", 4095, false)->gpu_tuning, "");

  const Profile read = parse_profile(to_json(profile));
  EXPECT_EQ(read.rates[0].name.gpu_tuning, "");
  EXPECT_EQ(read.rates[2].name.gpu_tuning, tuning);
  const std::string text = to_json(profile);
  expect_refused(replaced(text, "groups=2", "groups=99"), "1 to 8 groups");
  expect_refused(replaced(text, "groups=2", "speed=2"), "is none of streams=N");
  expect_refused(replaced(text, "groups=2", tuning), "twice");
  expect_refused(replaced(text, "\"groups=2\"", "7"), "'gpu_tuning'");
  profile.rates.back().name.device = "cpu";
  expect_refused(to_json(profile), "the cpu has no 'gpu_tuning'");
}

TEST(Profile, TuningsHaveTexts) {
  for (const GpuTuning& tuning :
       {GpuTuning{}, GpuTuning{.streams = 6}, GpuTuning{.launch_bytes = 64 << 10},
        GpuTuning{.tables = 4, .tensor_hash = true}, GpuTuning{.tensor_hash = true},
        GpuTuning{.tables = 1, .tensor_hash = false}, GpuTuning{.tensor_hash = false},
        GpuTuning{.streams = 2, .launch_bytes = 1 << 20, .groups_per_processor = 8}}) {
    const std::string text = bench::text_of(tuning);
    if (tuning == GpuTuning{}) {
      EXPECT_EQ(text, "");
    } else {
      EXPECT_EQ(bench::parse_tuning(text, {parse_size, parse_number}), tuning) << text;
    }
  }
}

TEST(Profile, TextAfterTheObjectAndDuplicates_AreRefused) {
  const std::string text = to_json(sample());
  for (const std::string& more : {std::string("x"), std::string("{}"), std::string("\0x", 2)}) {
    expect_refused(text + more, "JSON");
  }
  expect_refused("[" + text + "]", "JSON");
  expect_refused(replaced(text, "\"schema\": 2", "\"schema\": 2, \"schema\": 2"), "twice");
  Profile profile = sample();
  profile.devices.push_back(profile.devices[0]);
  expect_refused(to_json(profile), "twice");
  profile = sample();
  profile.rates.push_back(profile.rates[0]);
  expect_refused(to_json(profile), "twice");
}

TEST(Profile, Choice_InterpolatesBetweenMeasuredSizes) {
  const Profile profile = sample();
  const auto seconds = [](const Profile& measured, std::uint64_t bytes) {
    const auto choice = choose(measured, bytes, false);
    return choice ? choice->seconds.median : -1;
  };
  EXPECT_DOUBLE_EQ(seconds(profile, 0), 0.25);
  EXPECT_DOUBLE_EQ(seconds(profile, 1024), 0.25 + 1024 / 1e9);
  EXPECT_DOUBLE_EQ(seconds(profile, 2048), 0.25 + 2048 / 2e9);
  EXPECT_DOUBLE_EQ(seconds(profile, 4096), 0.25 + 4096 / 3e9);
  EXPECT_DOUBLE_EQ(seconds(profile, std::uint64_t{1} << 40), 0.25 + std::exp2(40) / 3e9);
  // The largest sizes that are accepted can still be told apart.
  Profile large = profile;
  large.rates[0].bytes = (std::uint64_t{1} << 53) - 1;
  large.rates[1].bytes = std::uint64_t{1} << 53;
  large = parse_profile(to_json(large));
  EXPECT_DOUBLE_EQ(seconds(large, large.rates[1].bytes), 0.25 + std::exp2(53) / 3e9);
}

}  // namespace
}  // namespace paraes::cli
