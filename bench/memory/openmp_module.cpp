// paraes_openmp.so. It is compiled without exceptions and needs no C++ library.
#include <omp.h>

#include "bench/memory/openmp_functions.hpp"

namespace paraes::bench {
namespace {

void spread(unsigned tasks, void (*task)(const void* object, unsigned number), const void* object) {
  const auto count = static_cast<int>(tasks);
#pragma omp parallel for num_threads(count) schedule(static, 1)
  for (int number = 0; number < count; ++number) task(object, static_cast<unsigned>(number));
}

void end_threads() {
  static_cast<void>(omp_pause_resource(omp_pause_soft, omp_get_initial_device()));
}

constexpr OpenMpFunctions functions = {_OPENMP, omp_get_max_threads, spread, end_threads};

}  // namespace

extern "C" __attribute__((visibility("default"))) const OpenMpFunctions*
paraes_openmp_functions_1() {
  return &functions;
}

}  // namespace paraes::bench
