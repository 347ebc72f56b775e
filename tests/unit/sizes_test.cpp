// Sizes, amounts and rates as people read them.

#include "cli/words/sizes.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <utility>

namespace paraes::cli {
namespace {

TEST(Sizes, AmountsHaveDecimalUnitsAndThreeDigits) {
  const std::pair<std::uint64_t, const char*> amounts[] = {
      {0, "0 B"},
      {999, "999 B"},
      {1000, "1.00 kB"},
      {9995, "10.0 kB"},
      {999'499, "999 kB"},
      {999'500, "1.00 MB"},
      {123'000'000'000'000'000, "123 PB"},
      {std::numeric_limits<std::uint64_t>::max(), "18.4 EB"},
  };
  for (const auto& [bytes, text] : amounts) EXPECT_EQ(format_amount(bytes), text) << bytes;
}

TEST(Sizes, RatesHaveTheUnitsOfAmounts) {
  EXPECT_EQ(format_rate(0), "0 B/s");
  EXPECT_EQ(format_rate(0.6), "1 B/s");
  EXPECT_EQ(format_rate(999.6), "1.00 kB/s");
  EXPECT_EQ(format_rate(1.25e9), "1.25 GB/s");
  EXPECT_EQ(format_rate(1e300), "9.00 EB/s");
}

TEST(Sizes, SuffixesAreBinaryOrDecimal) {
  std::uint64_t binary = 1;
  std::uint64_t decimal = 1;
  for (const std::string unit : {"K", "M", "G", "T"}) {
    binary *= 1024;
    decimal *= 1000;
    EXPECT_EQ(parse_size("3" + unit, "--n"), 3 * binary);
    EXPECT_EQ(parse_size("3" + unit + "iB", "--n"), 3 * binary);
    EXPECT_EQ(parse_size("3" + (unit == "K" ? "k" : unit) + "B", "--n"), 3 * decimal);
  }
}

TEST(Sizes, SizesHaveBinaryUnits) {
  EXPECT_EQ(format_size(1023), "1023 B");
  EXPECT_EQ(format_size(65536), "64.0 KiB");
  EXPECT_EQ(format_size(std::uint64_t{1} << 20), "1.0 MiB");
}

}  // namespace
}  // namespace paraes::cli
