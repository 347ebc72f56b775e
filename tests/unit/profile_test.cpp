// The profile of `paraes tune`: which numbers are accepted, and what is chosen by them.

#include "cli/profile.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "paraes/error.hpp"

namespace paraes::cli {
namespace {

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) throw InvalidArgument("the test replaces nothing: " + from);
  return text.replace(at, from.size(), to);
}

Profile sample() {
  Profile profile = new_profile();
  const std::string kernel(select_kernel("auto").name);
  profile.devices = {{.id = "cpu", .name = "n", .driver = "d", .start_seconds = 0.25}};
  profile.rates = {{"cpu", kernel, 1024, 1e9}, {"cpu", kernel, 4096, 3e9}};
  return profile;
}

void expect_refused(const std::string& text, const std::string& why) {
  SCOPED_TRACE(text);
  try {
    static_cast<void>(parse_profile(text));
    ADD_FAILURE() << "it was accepted";
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
  }
}

TEST(Profile, ThatWasStored_IsReadBack) {
  const Profile profile = parse_profile(to_json(sample()));
  EXPECT_EQ(why_stale(profile), "");
  ASSERT_EQ(profile.devices.size(), 1U);
  EXPECT_EQ(profile.devices[0].start_seconds, 0.25);
  ASSERT_EQ(profile.rates.size(), 2U);
  EXPECT_EQ(profile.rates[1].bytes, 4096U);
  EXPECT_EQ(profile.rates[1].bytes_per_second, 3e9);
  EXPECT_EQ(profile.cores, sample().cores);
}

TEST(Profile, NumbersThatDoNotFit_AreRefused) {
  const std::string text = to_json(sample());
  const std::string cores = "\"cores\": " + std::to_string(sample().cores);
  for (const char* number : {"2.2e20", "1e400", "-1", "-4294967295", "1.5", "1.0", "1e0", "\"1\"",
                             "null", "true", "[1]", "4294967297", "18446744073709551616"}) {
    expect_refused(replaced(text, "\"schema\": 1", std::string("\"schema\": ") + number), "");
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
  expect_refused(replaced(text, "1000000000.0", "0"), "'bytes_per_second'");
  expect_refused(replaced(text, "1000000000.0", "1e-400"), "'bytes_per_second'");
}

TEST(Profile, TextAfterTheObjectAndDuplicates_AreRefused) {
  const std::string text = to_json(sample());
  for (const std::string& more : {std::string("x"), std::string("{}"), std::string("\0x", 2)}) {
    expect_refused(text + more, "JSON");
  }
  expect_refused("[" + text + "]", "JSON");
  expect_refused(replaced(text, "\"schema\": 1", "\"schema\": 1, \"schema\": 1"), "twice");
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
    return choice ? choice->seconds : -1;
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
