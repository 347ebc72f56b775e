#include "executors/executor.hpp"

#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <exception>
#include <string>
#include <vector>

#include "paraes/error.hpp"
#include "paraes/kernels.hpp"

namespace paraes {

int available_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return 1;
}

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

void Executor::run_parallel(std::uint64_t units, unsigned runs, const Body& body) {
  std::vector<std::exception_ptr> errors(runs);
#pragma omp parallel for num_threads(static_cast <int>(runs)) schedule(static, 1)
  for (unsigned r = 0; r < runs; ++r) {
    try {
      body(r, start_of(units, runs, r), start_of(units, runs, r + 1));
    } catch (...) {
      errors[r] = std::current_exception();
    }
  }
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace paraes
