// Threads that work through a sequence of jobs by themselves, for work that waits on files and
// pipes. Those of thread_teams.hpp, which keep runs on the same cores, are for computation.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <mutex>

#include "paraes/threads.hpp"

namespace paraes {

// Calls body(0) … body(count - 1) concurrently, body(0) on the calling thread; returns when all
// have. `body` must not throw. Fewer threads run if the system gives no more.
void run_workers(unsigned count, const std::function<void(unsigned)>& body,
                 StackSize stack = StackSize::small);

// Keeps numbered jobs of several workers in order, and what failed.
//
// The first failure is that of the lowest number: jobs before it still run to their end, jobs after
// it stop where they next ask.
class TurnQueue {
 public:
  // Waits until every job before `number` has called done. False if one of them failed: then the
  // job is to be given up.
  [[nodiscard]] bool wait_turn(std::uint64_t number);

  // Says that job `number`, whose turn it is, is over.
  void done(std::uint64_t number);

  // Remembers the current exception as that of job `number`.
  void fail(std::uint64_t number) noexcept;

  // Whether a job before `number` has failed.
  [[nodiscard]] bool stopped(std::uint64_t number);

  // Throws what the failed job threw, if one did.
  void rethrow();

 private:
  static constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t turn_ = 0;
  std::uint64_t failed_ = none;
  std::exception_ptr error_;
};

}  // namespace paraes
