// Threads for jobs that wait for files and pipes. They are started for each call. Computation uses
// the threads of thread_teams.hpp, which stay between calls.
#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <mutex>

#include "paraes/threads.hpp"

namespace paraes {

// Calls body(0) … body(count - 1) concurrently, body(0) on the calling thread, and returns when all
// calls have ended. If the system cannot start as many threads, or thread_limit() is lower, the
// last calls are left out. `body` must not throw.
void run_workers(unsigned count, const std::function<void(unsigned)>& body,
                 StackSize stack = StackSize::small);

// Lets the numbered jobs of several workers take turns in order, and keeps the first failure, which
// is that of the job with the lowest number. Jobs with lower numbers still run to their end; jobs
// with higher numbers stop at their next call of wait_turn or stopped.
class TurnQueue {
 public:
  // Waits until every job before `number` has called done. Returns false if one of them failed; the
  // caller must then give up job `number`.
  [[nodiscard]] bool wait_turn(std::uint64_t number);

  // Ends the turn of job `number`.
  void done(std::uint64_t number);

  // Records the current exception as the failure of job `number`.
  void fail(std::uint64_t number) noexcept;

  // Whether a job before `number` has failed.
  [[nodiscard]] bool stopped(std::uint64_t number);

  // Throws the exception of the first failure, if there is one.
  void rethrow();

 private:
  static constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();

  // Workers that wait for different turns sleep apart, or each turn would wake them all. Numbers
  // that differ by a multiple of the size share a condition variable and wake once too often.
  [[nodiscard]] std::condition_variable& changed_of(std::uint64_t number) {
    return changed_[static_cast<std::size_t>(number % changed_.size())];
  }

  std::mutex mutex_;
  std::array<std::condition_variable, 64> changed_;
  std::uint64_t turn_ = 0;
  std::uint64_t failed_ = none;
  std::exception_ptr error_;
};

}  // namespace paraes
