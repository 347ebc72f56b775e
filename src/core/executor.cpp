#include "src/core/executor.hpp"

#include <exception>
#include <limits>
#include <mutex>
#include <string>
#include <utility>

#include "paraes/error.hpp"
#include "paraes/threads.hpp"

namespace paraes {
namespace {

constinit thread_local SpreadTasks spread_tasks = run_on_threads;

// The exception of the lowest range that threw.
class Failure {
 public:
  void note(unsigned range) noexcept {
    const std::lock_guard lock(mutex_);
    if (range >= range_) return;
    range_ = range;
    error_ = std::current_exception();
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  unsigned range_ = std::numeric_limits<unsigned>::max();
  std::exception_ptr error_;
};

}  // namespace

Executor::Executor(int threads) : threads_(threads == 0 ? available_cores() : threads) {
  if (threads < 0 || threads > 4096) {
    throw InvalidArgument("threads: " + std::to_string(threads) +
                          " is not a number from 0 (all cores) to 4096");
  }
}

unsigned Executor::ranges_for(std::uint64_t units, std::uint64_t min_units) const noexcept {
  const std::uint64_t most = units / std::max<std::uint64_t>(min_units, 1);
  return static_cast<unsigned>(
      std::clamp<std::uint64_t>(most, 1, static_cast<std::uint64_t>(threads_)));
}

void Executor::run_parallel(unsigned ranges, TaskRef body) {
  Failure failure;
  const auto guarded = [&](unsigned range) {
    try {
      body(range);
    } catch (...) {
      failure.note(range);
    }
  };
  spread_tasks(ranges, TaskRef(guarded));
  failure.rethrow();
}

SpreadScope::SpreadScope(SpreadTasks spread) noexcept
    : before_(std::exchange(spread_tasks, spread)) {}

SpreadScope::~SpreadScope() { spread_tasks = before_; }

}  // namespace paraes
