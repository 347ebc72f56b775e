#include "bench/memory/openmp.hpp"

#include <omp.h>

#include <chrono>

#include "src/core/executor.hpp"

namespace paraes::bench {
namespace {

void spread(unsigned runs, TaskRef body) {
  const auto count = static_cast<int>(runs);
#pragma omp parallel for num_threads(count) schedule(static, 1)
  for (int run = 0; run < count; ++run) body(static_cast<unsigned>(run));
}

}  // namespace

void OpenMpVariant::call() {
  const SpreadScope scope(spread);
  MemoryVariant::call();
}

// After rest() the threads are made anew, and the scheduler may have two of them share a core for a
// while. Meanwhile they do nothing, which leaves the caches as other rows find them.
void OpenMpVariant::lead_in() {
  constexpr std::chrono::milliseconds long_enough(5);
  const auto end = std::chrono::steady_clock::now() + long_enough;
  do {
    spread(static_cast<unsigned>(row().threads), TaskRef([](unsigned) {}));
  } while (std::chrono::steady_clock::now() < end);
  MemoryVariant::lead_in();
}

// OpenMP's threads would look for more work for milliseconds, or for good, on the cores of the rows
// that come next.
void OpenMpVariant::rest() noexcept {
  static_cast<void>(omp_pause_resource(omp_pause_soft, omp_get_initial_device()));
}

}  // namespace paraes::bench
