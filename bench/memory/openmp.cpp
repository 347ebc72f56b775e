#include "bench/memory/openmp.hpp"

#include <omp.h>

#include <chrono>

#include "src/core/executor.hpp"

namespace paraes::bench {
namespace {

void spread(unsigned ranges, TaskRef body) {
  const auto count = static_cast<int>(ranges);
#pragma omp parallel for num_threads(count) schedule(static, 1)
  for (int range = 0; range < count; ++range) body(static_cast<unsigned>(range));
}

}  // namespace

void OpenMpCase::call() {
  const SpreadScope scope(spread);
  MemoryCase::call();
}

// After rest(), OpenMP starts new threads, and the scheduler may place two of them on one core for
// a while. Until that is over they run empty loops, which leave the caches unchanged.
void OpenMpCase::lead_in() {
  constexpr std::chrono::milliseconds long_enough(5);
  const auto end = std::chrono::steady_clock::now() + long_enough;
  do {
    spread(static_cast<unsigned>(row().threads), TaskRef([](unsigned) {}));
  } while (std::chrono::steady_clock::now() < end);
  MemoryCase::lead_in();
}

// OpenMP's threads would otherwise spin on the cores of the next rows: for milliseconds, or without
// end, depending on OMP_WAIT_POLICY.
void OpenMpCase::rest() noexcept {
  static_cast<void>(omp_pause_resource(omp_pause_soft, omp_get_initial_device()));
}

}  // namespace paraes::bench
