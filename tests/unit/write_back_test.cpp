// Windows of a file that have been written completely.
#include "src/io/write_back.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "src/core/workers.hpp"

namespace paraes::calls {
namespace {

using Windows = std::vector<std::uint64_t>;
using Range = std::pair<std::uint64_t, std::uint64_t>;  // begin, end

// The windows of 100 bytes that each range completes.
std::vector<Windows> completed_by(const std::vector<Range>& ranges) {
  CompleteWindows windows(100);
  std::vector<Windows> found;
  for (const auto& [begin, end] : ranges) {
    Windows& now = found.emplace_back();
    windows.add(begin, end - begin, [&](std::uint64_t at) { now.push_back(at); });
  }
  return found;
}

TEST(CompleteWindows, RangesInOrder_CompleteAWindowWithItsLastByte) {
  EXPECT_EQ(completed_by({{0, 60}, {60, 99}, {99, 100}, {100, 101}, {101, 200}}),
            (std::vector<Windows>{{}, {}, {0}, {}, {100}}));
}

TEST(CompleteWindows, RangesOutOfOrder_CompleteAWindowWithTheLastRange) {
  EXPECT_EQ(completed_by({{150, 250}, {50, 100}, {250, 300}, {0, 50}, {100, 150}}),
            (std::vector<Windows>{{}, {}, {200}, {0}, {100}}));
}

TEST(CompleteWindows, RangeOverSeveral_CompletesEach) {
  EXPECT_EQ(completed_by({{0, 300}, {350, 730}, {300, 350}}),
            (std::vector<Windows>{{0, 100, 200}, {400, 500, 600}, {300}}));
}

TEST(CompleteWindows, EmptyRange_CompletesNothing) {
  EXPECT_EQ(completed_by({{100, 100}, {0, 100}, {100, 100}}), (std::vector<Windows>{{}, {0}, {}}));
}

TEST(CompleteWindows, OffsetsAbove4GiB_AreExact) {
  constexpr std::uint64_t base = std::uint64_t{1} << 42;  // a multiple of 4 MiB
  CompleteWindows windows(std::uint64_t{4} << 20);
  Windows found;
  const auto note = [&](std::uint64_t at) { found.push_back(at); };
  windows.add(base, (std::uint64_t{4} << 20) - 1, note);
  EXPECT_EQ(found, Windows{});
  windows.add(base + (std::uint64_t{4} << 20) - 1, 1, note);
  EXPECT_EQ(found, Windows{base});
}

TEST(CompleteWindows, Threads_CompleteEachWindowOnce) {
  constexpr std::uint64_t count = 500;
  CompleteWindows windows(100);
  std::vector<std::atomic<int>> found(count);
  // No window is a multiple of the ranges' size.
  for_each_job(4, count * 100 / 40, [&](unsigned, std::uint64_t job) {
    windows.add(job * 40, 40, [&](std::uint64_t at) { ++found[at / 100]; });
  });
  for (std::uint64_t i = 0; i < count; ++i) EXPECT_EQ(found[i], 1) << i;
}

}  // namespace
}  // namespace paraes::calls
