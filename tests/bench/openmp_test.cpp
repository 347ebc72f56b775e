// Tests of the executor `openmp`, whose module lies beside this program.
#include <gtest/gtest.h>
#include <omp.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/memory/memory_case.hpp"
#include "bench/memory/openmp.hpp"
#include "bench/memory/ours.hpp"
#include "src/core/executor.hpp"
#include "tests/bench/memory_jobs.hpp"

namespace paraes::bench {
namespace {

class OpenMp : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      static_cast<void>(openmp_functions());
    } catch (const Skip& skip) {
      const std::string reason = skip.what();
      // Root tests the working tree of somebody else.
      if (reason.find("is not opened, because") != std::string::npos) GTEST_SKIP() << reason;
      FAIL() << reason;
    }
  }
};

TEST_F(OpenMp, IsVerifiedOnEveryJob) {
  for (const Job& job : jobs()) {
    OpenMpCase openmp_case(row_of(job), job, make_ours(job, "ttable"),
                           std::make_shared<Arena>(job.bytes, job.threads));
    openmp_case.set_up();
    openmp_case.lead_in();
    EXPECT_TRUE(openmp_case.verify()) << name_of(job);
    openmp_case.rest();
    EXPECT_TRUE(openmp_case.verify()) << name_of(job);
  }
}

// Records for each range the number of the OpenMP thread that computes it, or -1 outside OpenMP.
class Spy : public Implementation {
 public:
  void run(const std::uint8_t* /*in*/, std::uint8_t* /*out*/, std::uint8_t* /*tag*/) override {
    Executor(3).run(3, 1, [this](unsigned r, std::uint64_t, std::uint64_t) {
      threads[r] = omp_in_parallel() != 0 ? omp_get_thread_num() : -1;
    });
  }
  std::vector<int> threads = {-2, -2, -2};
};

template <class TimedCase>
std::vector<int> threads_of_ranges() {
  Job job;
  job.mode = Mode::ctr;
  job.bytes = 64;
  job.threads = 3;
  auto spy = std::make_unique<Spy>();
  const Spy& seen = *spy;
  TimedCase timed(row_of(job), job, std::move(spy),
                  std::make_shared<Arena>(job.bytes, job.threads));
  timed.set_up();
  timed.call();
  return seen.threads;
}

TEST_F(OpenMp, ComputesTheRangesOfItsRowsOnly) {
  EXPECT_EQ(threads_of_ranges<OpenMpCase>(), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(threads_of_ranges<MemoryCase>(), (std::vector<int>{-1, -1, -1}));
}

TEST_F(OpenMp, ReportsTheLibraryThatIsLoaded) {
  EXPECT_EQ(openmp_functions().version, _OPENMP);
  EXPECT_EQ(openmp_functions().max_threads(), omp_get_max_threads());
}

}  // namespace
}  // namespace paraes::bench
