// What spreads runs of work over the cores of this machine.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>

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
  // always on thread r. With one run the calling thread does it, without touching OpenMP and
  // without allocating: a message of a few KiB is encrypted faster than memory is found for a
  // closure. The first exception (by run) is thrown again here, after all runs have ended.
  template <class F>
  void run(std::uint64_t units, std::uint64_t min_units, const F& body) const {
    const unsigned runs = runs_for(units, min_units);
    if (runs == 1) {
      body(0U, std::uint64_t{0}, units);
      return;
    }
    run_parallel(units, runs, std::cref(body));
  }

  // The first unit of run r of `runs` over `units` units; that of r = runs is `units`.
  [[nodiscard]] static std::uint64_t start_of(std::uint64_t units, unsigned runs,
                                              unsigned r) noexcept {
    // The first units % runs runs take one unit more.
    return r * (units / runs) + std::min<std::uint64_t>(r, units % runs);
  }

 private:
  using Body = std::function<void(unsigned run, std::uint64_t begin, std::uint64_t end)>;
  static void run_parallel(std::uint64_t units, unsigned runs, const Body& body);

  int threads_;
};

}  // namespace paraes
