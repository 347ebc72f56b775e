#include "src/core/executor.hpp"

#include <algorithm>
#include <exception>
#include <limits>
#include <mutex>
#include <string>
#include <utility>

#include "paraes/error.hpp"
#include "paraes/threads.hpp"

namespace paraes {
namespace {

constinit thread_local SpreadRuns spread_runs = run_on_threads;

// The exception of the lowest run that threw.
class Failure {
 public:
  void note(unsigned run) noexcept {
    const std::lock_guard lock(mutex_);
    if (run >= run_) return;
    run_ = run;
    error_ = std::current_exception();
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  unsigned run_ = std::numeric_limits<unsigned>::max();
  std::exception_ptr error_;
};

}  // namespace

Executor::Executor(int threads) : threads_(threads == 0 ? available_cores() : threads) {
  if (threads < 0 || threads > 4096) {
    throw InvalidArgument("threads: " + std::to_string(threads) +
                          " is not a number from 0 (all cores) to 4096");
  }
}

unsigned Executor::runs_for(std::uint64_t units, std::uint64_t min_units) const noexcept {
  const std::uint64_t most = units / std::max<std::uint64_t>(min_units, 1);
  return static_cast<unsigned>(
      std::clamp<std::uint64_t>(most, 1, static_cast<std::uint64_t>(threads_)));
}

void Executor::run_parallel(unsigned runs, RunRef body) {
  Failure failure;
  const auto guarded = [&](unsigned run) {
    try {
      body(run);
    } catch (...) {
      failure.note(run);
    }
  };
  spread_runs(runs, RunRef(guarded));
  failure.rethrow();
}

SpreadScope::SpreadScope(SpreadRuns spread) noexcept
    : before_(std::exchange(spread_runs, spread)) {}

SpreadScope::~SpreadScope() { spread_runs = before_; }

}  // namespace paraes
