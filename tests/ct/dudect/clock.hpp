// The processor's counter of time, read in program order.
#pragma once

#include <cstdint>
#if defined(__x86_64__)
#include <x86intrin.h>
#elif !defined(__aarch64__)
#include <chrono>
#endif

namespace paraes::dudect {

// No instruction of the program crosses this call.
inline std::uint64_t ticks() noexcept {
#if defined(__x86_64__)
  _mm_mfence();
  _mm_lfence();
  const std::uint64_t now = __rdtsc();
  _mm_lfence();
  return now;
#elif defined(__aarch64__)
  std::uint64_t now;
  asm volatile("dsb sy\n\tisb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(now) : : "memory");
  return now;
#else
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

}  // namespace paraes::dudect
