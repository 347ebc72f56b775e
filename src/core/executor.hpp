// Spreads ranges of work over threads of this machine.
#pragma once

#include <algorithm>
#include <cstdint>

#include "src/core/non_copyable.hpp"
#include "src/core/thread_teams.hpp"

namespace paraes {

class Executor {
 public:
  // threads ≥ 1: that many (more than there are cores is allowed); 0: available_cores().
  // Throws InvalidArgument for a negative number or one over 4096.
  explicit Executor(int threads);

  [[nodiscard]] int threads() const noexcept { return threads_; }

  // The number of ranges into which run() cuts `units` units.
  [[nodiscard]] unsigned ranges_for(std::uint64_t units, std::uint64_t min_units) const noexcept;

  // Cuts [0, units) into ranges_for(units, min_units) contiguous ranges, in order and of nearly
  // equal size, and calls body(range, begin, end) for each. No range has fewer than min_units
  // units, unless it is the only one, which runs on the calling thread. Several run concurrently,
  // each on the thread that run_on_threads gives its number. After all have ended, rethrows the
  // exception of the lowest range that threw.
  //
  // Once the threads exist, this allocates no memory, because a message of a few KiB is encrypted
  // faster than an allocation takes.
  template <class F>
  void run(std::uint64_t units, std::uint64_t min_units, const F& body) const {
    const unsigned ranges = ranges_for(units, min_units);
    if (ranges == 1) {
      body(0U, std::uint64_t{0}, units);
      return;
    }
    run_parallel(ranges, TaskRef([&](unsigned r) {
                   body(r, start_of(units, ranges, r), start_of(units, ranges, r + 1));
                 }));
  }

  // The first unit of range r, if `units` units are cut into `ranges` ranges; `units` if r =
  // ranges.
  [[nodiscard]] static std::uint64_t start_of(std::uint64_t units, unsigned ranges,
                                              unsigned r) noexcept {
    // The first units % ranges ranges have one unit more.
    return r * (units / ranges) + std::min<std::uint64_t>(r, units % ranges);
  }

 private:
  static void run_parallel(unsigned ranges, TaskRef body);

  int threads_;
};

// Calls body(0) … body(tasks - 1), each once, and returns when all have ended.
using SpreadTasks = void (*)(unsigned tasks, TaskRef body);

// During its lifetime, executors that the calling thread uses call `spread` instead of
// run_on_threads. The bench uses it for the comparison with OpenMP, copy_stream to compute on one
// thread.
class SpreadScope : NonCopyable {
 public:
  explicit SpreadScope(SpreadTasks spread) noexcept;
  ~SpreadScope();

 private:
  SpreadTasks before_;
};

}  // namespace paraes
