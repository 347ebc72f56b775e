// What spreads runs of work over the cores of this machine.
#pragma once

#include <algorithm>
#include <cstdint>

#include "src/core/thread_teams.hpp"

namespace paraes {

class Executor {
 public:
  // threads ≥ 1: that many (more than there are cores is allowed); 0: available_cores().
  // Throws InvalidArgument for a negative number or one over 4096.
  explicit Executor(int threads);

  [[nodiscard]] int threads() const noexcept { return threads_; }

  // How many runs `run` will make of `units` units.
  [[nodiscard]] unsigned runs_for(std::uint64_t units, std::uint64_t min_units) const noexcept;

  // Cuts [0, units) into runs_for(units, min_units) contiguous runs of nearly equal size, in order,
  // none shorter than min_units, and calls body(run, begin, end) for each, concurrently, run r
  // always on thread r (of n threads, r mod n: see run_on_threads). With one run the calling
  // thread does it, and no thread is started for it. Allocates nothing once the threads are there:
  // a message of a few KiB is encrypted faster than memory is found for a closure. The first
  // exception (by run) is thrown again here, after all runs have ended.
  template <class F>
  void run(std::uint64_t units, std::uint64_t min_units, const F& body) const {
    const unsigned runs = runs_for(units, min_units);
    if (runs == 1) {
      body(0U, std::uint64_t{0}, units);
      return;
    }
    run_parallel(runs, RunRef([&](unsigned r) {
                   body(r, start_of(units, runs, r), start_of(units, runs, r + 1));
                 }));
  }

  // The first unit of run r of `runs` over `units` units; that of r = runs is `units`.
  [[nodiscard]] static std::uint64_t start_of(std::uint64_t units, unsigned runs,
                                              unsigned r) noexcept {
    // The first units % runs runs take one unit more.
    return r * (units / runs) + std::min<std::uint64_t>(r, units % runs);
  }

 private:
  static void run_parallel(unsigned runs, RunRef body);

  int threads_;
};

// Calls body(0) … body(runs - 1), each once, and returns when all have ended.
using SpreadRuns = void (*)(unsigned runs, RunRef body);

// While it exists, executors that the calling thread uses spread their runs by `spread` instead of
// run_on_threads. The bench compares with OpenMP so.
class SpreadScope {
 public:
  explicit SpreadScope(SpreadRuns spread) noexcept;
  ~SpreadScope();
  SpreadScope(const SpreadScope&) = delete;
  SpreadScope& operator=(const SpreadScope&) = delete;

 private:
  SpreadRuns before_;
};

}  // namespace paraes
