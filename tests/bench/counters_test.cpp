// The processor's counters, with events that the kernel itself counts: every machine has those.
#include "bench/system/counters.hpp"

#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <unistd.h>

#include <latch>
#include <optional>
#include <thread>

#include "bench/harness/measure.hpp"
#include "tests/bench/fake_case.hpp"
#include "tests/gpu/expect_has.hpp"

namespace paraes::bench {
namespace {

const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));

const CounterEvent page_faults{"page_faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS};
const CounterEvent unknown{"unicorns", 0xfffffff0, 0};

void touch_pages(std::size_t pages) {
  void* const memory =
      mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  // Huge pages would make fewer faults.
  madvise(memory, pages * page, MADV_NOHUGEPAGE);
  for (std::size_t i = 0; i < pages; ++i) static_cast<volatile char*>(memory)[i * page] = 1;
  munmap(memory, pages * page);
}

TEST(Counters, CountTheWorkOfAllThreadsBetweenStartAndStop) {
  std::latch begin(1);
  std::latch end(1);
  std::thread worker([&] {  // is there before the counters
    begin.wait();
    touch_pages(300);
    end.count_down();
  });
  Counters counters({page_faults});
  const bool available = counters.available();
  if (available) {
    touch_pages(5000);  // before the start
    counters.start();
    touch_pages(200);
  }
  begin.count_down();
  end.wait();
  const auto counts = available ? counters.stop() : std::nullopt;
  worker.join();
  if (!available) GTEST_SKIP() << counters.reason();
  touch_pages(5000);  // after the stop
  ASSERT_TRUE(counts);
  EXPECT_GE(counts->at("page_faults"), 500);
  EXPECT_LT(counts->at("page_faults"), 1500);
}

TEST(Counters, CountThreadsThatStartLater) {
  Counters counters({page_faults});
  if (!counters.available()) GTEST_SKIP() << counters.reason();
  counters.start();
  std::thread([] { touch_pages(700); }).join();
  const auto counts = counters.stop();
  ASSERT_TRUE(counts);
  EXPECT_GE(counts->at("page_faults"), 700);
}

TEST(Counters, StartBeginsAtZeroAgain) {
  Counters counters({page_faults});
  if (!counters.available()) GTEST_SKIP() << counters.reason();
  for (int i = 0; i < 3; ++i) {
    counters.start();
    touch_pages(1000);
    const auto counts = counters.stop();
    ASSERT_TRUE(counts);
    EXPECT_GE(counts->at("page_faults"), 1000);
    EXPECT_LT(counts->at("page_faults"), 2000);
  }
}

TEST(Counters, EventThatIsMissingIsLeftOutWithTheReason) {
  Counters counters({unknown, page_faults});
  EXPECT_FALSE(counters.reason().empty());
  if (!counters.available()) GTEST_SKIP() << counters.reason();
  EXPECT_HAS(counters.reason(), "unicorns");
  counters.start();
  const auto counts = counters.stop();
  ASSERT_TRUE(counts);
  EXPECT_EQ(counts->count("unicorns"), 0U);
  EXPECT_EQ(counts->count("page_faults"), 1U);
}

TEST(Counters, EveryRowHasItsCountsOrTheReason) {
  Group group;
  volatile int sink = 0;
  for (const char* device : {"cpu", "cuda:0"}) {
    auto loop = std::make_unique<Fake>("loop", device);
    loop->kernel_alone = true;
    loop->on_call = [&sink] {
      for (int i = 0; i < 1000; ++i) sink = i;
    };
    group.push_back(std::move(loop));
  }
  Random random(1);
  EnergyMeter energy;
  const Outcome outcome =
      measure(group, Settings{3, 0, 1, 1e5}, random, energy, [](double, const Row&) {});
  ASSERT_EQ(outcome.results.size(), 2U);
  const Result& counted = outcome.results[0];
  EXPECT_TRUE(!counted.counters.empty() || !counted.counters_reason.empty());
  if (counted.counters.count("instructions") == 1) {
    // A loop of 1000 rounds with a store each.
    EXPECT_GE(counted.counters.at("instructions"), 1000);
    EXPECT_LE(counted.counters.at("instructions"), 200000);
  }
  EXPECT_TRUE(outcome.results[1].counters.empty());
  EXPECT_HAS(outcome.results[1].counters_reason, "on the cpu");
}

}  // namespace
}  // namespace paraes::bench
