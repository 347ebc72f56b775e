// How work is cut and spread.

#include <gtest/gtest.h>
#include <omp.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "core/cache.hpp"
#include "executors/executor.hpp"
#include "executors/parallel_modes.hpp"
#include "paraes/error.hpp"
#include "paraes/kernels.hpp"

namespace paraes {
namespace {

struct Seen {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  int calls = 0;
  int thread = -1;
};

TEST(Executor, CutsEverythingOnceInOrderAndEvenly) {
  for (const int threads : {1, 2, 3, 4, 7, 8}) {
    const Executor executor(threads);
    EXPECT_EQ(executor.threads(), threads);
    for (const std::uint64_t units : {0, 1, 2, 3, 7, 8, 9, 100, 1001}) {
      for (const std::uint64_t min_units : {0, 1, 2, 4, 50, 2000}) {
        const unsigned runs = executor.runs_for(units, min_units);
        ASSERT_GE(runs, 1U);
        ASSERT_LE(runs, static_cast<unsigned>(threads));
        std::vector<Seen> seen(runs);
        executor.run(units, min_units, [&](unsigned r, std::uint64_t begin, std::uint64_t end) {
          ASSERT_LT(r, seen.size());
          seen[r].begin = begin;
          seen[r].end = end;
          seen[r].thread = omp_get_thread_num();
          ++seen[r].calls;
        });
        std::uint64_t next = 0;
        std::uint64_t shortest = ~std::uint64_t{0};
        std::uint64_t longest = 0;
        for (unsigned r = 0; r < runs; ++r) {
          ASSERT_EQ(seen[r].calls, 1);
          ASSERT_EQ(seen[r].thread, static_cast<int>(r));
          ASSERT_EQ(seen[r].begin, next);
          next = seen[r].end;
          const std::uint64_t length = seen[r].end - seen[r].begin;
          shortest = std::min(shortest, length);
          longest = std::max(longest, length);
        }
        ASSERT_EQ(next, units);
        ASSERT_LE(longest - shortest, 1U);
        if (runs > 1) {
          ASSERT_GE(shortest, min_units);
        }
      }
    }
  }
}

TEST(Executor, UsesAsManyRunsAsItMay) {
  EXPECT_EQ(Executor(4).runs_for(100, 1), 4U);
  EXPECT_EQ(Executor(4).runs_for(100, 25), 4U);
  EXPECT_EQ(Executor(4).runs_for(100, 26), 3U);
  EXPECT_EQ(Executor(4).runs_for(100, 101), 1U);
  EXPECT_EQ(Executor(4).runs_for(0, 1), 1U);
}

TEST(Executor, OneRunStaysOnTheCallingThread) {
  std::thread::id id;
  Executor(8).run(5, 100, [&](unsigned, std::uint64_t, std::uint64_t) {
    id = std::this_thread::get_id();
    EXPECT_EQ(omp_in_parallel(), 0);
  });
  EXPECT_EQ(id, std::this_thread::get_id());
}

TEST(Executor, RunsAreConcurrent) {
  const Executor executor(2);
  std::mutex mutex;
  std::set<std::thread::id> ids;
  executor.run(2, 1, [&](unsigned, std::uint64_t, std::uint64_t) {
    const std::scoped_lock lock(mutex);
    ids.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(ids.size(), 2U);
}

TEST(Executor, ThrowsTheFirstExceptionAfterAllRunsHaveEnded) {
  const Executor executor(4);
  std::atomic<int> ended = 0;
  try {
    executor.run(4, 1, [&](unsigned r, std::uint64_t, std::uint64_t) {
      if (r == 1 || r == 3) {
        ++ended;
        throw std::runtime_error("run " + std::to_string(r));
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      ++ended;
    });
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& e) {
    EXPECT_STREQ(e.what(), "run 1");
  }
  EXPECT_EQ(ended, 4);
}

TEST(Executor, NumberOfThreads) {
  EXPECT_EQ(Executor(0).threads(), available_cores());
  EXPECT_EQ(Executor(4096).threads(), 4096);
  for (const int wrong : {-1, -100, 4097}) {
    try {
      const Executor executor(wrong);
      ADD_FAILURE() << wrong << " threads were taken";
    } catch (const InvalidArgument& e) {
      EXPECT_NE(std::string_view(e.what()).find(std::to_string(wrong)), std::string_view::npos)
          << e.what();
    }
  }
}

TEST(Streams, PastTheCachesOnlyForLargeOutputsElsewhere) {
  const std::uint8_t bytes[2] = {};
  constexpr std::uint64_t huge = std::uint64_t{1} << 40;
  for (const int threads : {1, 2, 4096}) {
    EXPECT_FALSE(streams(bytes, bytes + 1, 1 << 16, threads));
    EXPECT_TRUE(streams(bytes, bytes + 1, huge, threads));
    EXPECT_FALSE(streams(bytes, bytes, huge, threads));
  }
}

TEST(Caches, WhatTheSystemSays) {
  const std::filesystem::path caches = "/sys/devices/system/cpu/cpu0/cache";
  std::uint64_t largest = 0;
  for (int index = 0; index < 16; ++index) {
    std::ifstream file(caches / ("index" + std::to_string(index)) / "size");
    std::uint64_t kib = 0;
    if (file >> kib) largest = std::max(largest, kib << 10);
  }
  if (largest == 0) GTEST_SKIP() << "the system does not say how large the caches are";
  EXPECT_EQ(last_level_cache_bytes(1), largest);
  EXPECT_EQ(last_level_cache_bytes(0), largest);
  // Not more with more threads than there are processors.
  const int online = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  EXPECT_EQ(last_level_cache_bytes(4096), last_level_cache_bytes(online));
  EXPECT_EQ(last_level_cache_bytes(online) % largest, 0U);
}

}  // namespace
}  // namespace paraes
