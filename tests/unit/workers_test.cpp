// for_each_job: threads that work through numbered jobs.
#include "src/core/workers.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/support/message_of.hpp"

namespace paraes {
namespace {

TEST(ForEachJob, CallsTheBodyOnceForEveryJob) {
  for (const unsigned workers : {1U, 3U, 64U}) {
    for (const std::uint64_t count : {0U, 1U, 2U, 1000U}) {
      std::vector<std::atomic<int>> done(count);
      std::atomic<unsigned> highest = 0;
      for_each_job(workers, count, [&](unsigned worker, std::uint64_t job) {
        ++done[job];
        if (worker > highest) highest = worker;
      });
      for (std::uint64_t job = 0; job < count; ++job) EXPECT_EQ(done[job], 1) << job;
      EXPECT_LT(highest, workers);
    }
  }
}

TEST(ForEachJob, OneWorker_KeepsTheOrderAndStopsAtTheFirstFailure) {
  std::vector<std::uint64_t> seen;
  const auto body = [&](unsigned, std::uint64_t job) {
    seen.push_back(job);
    if (job == 3) throw std::runtime_error("3");
  };
  EXPECT_THROW(for_each_job(1, 10, body), std::runtime_error);
  EXPECT_EQ(seen, (std::vector<std::uint64_t>{0, 1, 2, 3}));
}

TEST(ForEachJob, Failure_OfTheLowestJobIsThrownAndNoMoreJobsBegin) {
  constexpr std::uint64_t count = 100000;
  std::atomic<std::uint64_t> begun = 0;
  std::atomic<bool> later_failed = false;
  // Job 0 waits until a job with a higher number has failed, and then fails too.
  const auto body = [&](unsigned, std::uint64_t job) {
    ++begun;
    if (job == 0) {
      for (int i = 0; i < 1000000 && !later_failed; ++i) std::this_thread::yield();
      throw std::runtime_error("first");
    }
    later_failed = true;
    throw std::runtime_error("later");
  };
  EXPECT_TRUE(support::throws<std::runtime_error>([&] { for_each_job(2, count, body); }, "first"));
  EXPECT_LE(begun, 2U);
}

}  // namespace
}  // namespace paraes
