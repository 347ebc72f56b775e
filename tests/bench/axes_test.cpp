// From comma lists to axes, and from axes to plans.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "axes.hpp"
#include "paraes/error.hpp"
#include "paraes/kernels.hpp"
#include "suites/suites.hpp"

namespace paraes::bench {
namespace {

std::uint64_t plain_size(std::string_view text, std::string_view flag) {
  char* end = nullptr;
  const std::string copy(text);
  const std::uint64_t value = std::strtoull(copy.c_str(), &end, 10);
  if (*end != '\0') throw InvalidArgument(std::string(flag) + ": no size");
  return value;
}

Axes axes_of(const AxisTexts& texts) { return parse_axes(texts, plain_size); }

AxisTexts texts_with(std::string AxisTexts::*axis, const std::string& value) {
  AxisTexts texts;
  texts.kernel = "reference";
  texts.*axis = value;
  return texts;
}

TEST(Axes, SeriesOfSizes) {
  using Sizes = std::vector<std::uint64_t>;
  const auto sizes = [](const std::string& list) {
    return axes_of(texts_with(&AxisTexts::size, list)).sizes;
  };
  EXPECT_EQ(sizes("64,16"), (Sizes{16, 64}));
  EXPECT_EQ(sizes("16,...,1024"), (Sizes{16, 64, 256, 1024}));
  EXPECT_EQ(sizes("16,32,...,128"), (Sizes{16, 32, 64, 128}));
  EXPECT_EQ(sizes("16,\u2026,100"), (Sizes{16, 64, 100}));
  for (const char* wrong : {"0", "...,16", "16,...", "16,...,...,64", "16,16,,", "x"}) {
    EXPECT_THROW((void)sizes(wrong), InvalidArgument) << wrong;
  }
}

TEST(Axes, UnknownValuesAreRefused) {
  const std::pair<std::string AxisTexts::*, const char*> wrong[] = {
      {&AxisTexts::device, "gpu"},     {&AxisTexts::kernel, "fast"},
      {&AxisTexts::mode, "ctr,cfb"},   {&AxisTexts::key_bits, "129"},
      {&AxisTexts::direction, "both"}, {&AxisTexts::threads, "-1"},
      {&AxisTexts::threads, "two"},    {&AxisTexts::scope, "disk"},
      {&AxisTexts::in_place, "maybe"}, {&AxisTexts::format, "zip"},
      {&AxisTexts::transfer, "mail"},  {&AxisTexts::key_expansion, "x"},
      {&AxisTexts::rivals, "botan"},   {&AxisTexts::unit, "15"},
  };
  for (const auto& [axis, value] : wrong) {
    EXPECT_THROW((void)axes_of(texts_with(axis, value)), InvalidArgument) << value;
  }
}

TEST(Axes, AllNamesEveryKernelOnce) {
  const Axes axes = axes_of(texts_with(&AxisTexts::kernel, "reference,all"));
  EXPECT_EQ(axes.kernels.size(), kernels().size());
}

TEST(Axes, ZeroThreadsAreAllCores) {
  const Axes axes = axes_of(texts_with(&AxisTexts::threads, "0"));
  EXPECT_EQ(axes.threads, std::vector<int>{available_cores()});
}

Plan plan_with(AxisTexts texts) {
  if (texts.kernel.empty()) texts.kernel = "reference";
  return make_plan(axes_of(texts));
}

bool skips(const Plan& plan, const std::string& part) {
  for (const Skipped& skipped : plan.skipped) {
    if (skipped.reason.find(part) != std::string::npos) return true;
  }
  return false;
}

TEST(Plan, ProductOfAxes) {
  AxisTexts texts;
  texts.mode = "ecb,ctr";
  texts.key_bits = "all";
  texts.size = "16,64,4096";
  texts.rivals = "openssl,memcpy";
  const Plan plan = plan_with(texts);
  ASSERT_EQ(plan.groups.size(), 3U);  // one a size: rows of one size are interleaved
  for (const Group& group : plan.groups) {
    EXPECT_EQ(group.size(), 2U * 3U * 2U * 2U + 1U);  // modes, keys, directions, who; one copy
  }
  EXPECT_TRUE(plan.skipped.empty());
}

TEST(Plan, ImpossibleRowsHaveReasons) {
  AxisTexts texts;
  texts.mode = "all";
  texts.key_bits = "192";
  texts.size = "40";
  texts.threads = "2";
  texts.rivals = "none";
  texts.scope = "memory,transfer";
  texts.device = "cpu,cuda:0";
  const Plan plan = plan_with(texts);
  EXPECT_TRUE(skips(plan, "whole blocks"));
  EXPECT_TRUE(skips(plan, "XTS has no AES-192"));
  EXPECT_TRUE(skips(plan, "nothing to transfer"));
  EXPECT_TRUE(skips(plan, "cpu only"));
  texts.size = "64";
  EXPECT_TRUE(skips(plan_with(texts), "CBC encryption is serial"));
}

TEST(Plan, CopiesHaveNoPlaceToStayIn) {
  AxisTexts texts;
  texts.mode = "ctr";
  texts.direction = "encrypt";
  texts.in_place = "yes";
  texts.size = "64";
  texts.rivals = "memcpy";
  const Plan plan = plan_with(texts);
  ASSERT_EQ(plan.groups.size(), 1U);
  ASSERT_EQ(plan.groups[0].size(), 2U);
  EXPECT_FALSE(plan.groups[0][0]->row().in_place);
  EXPECT_TRUE(plan.groups[0][1]->row().in_place);
}

}  // namespace
}  // namespace paraes::bench
