#include "tests/support/vector_state.hpp"

#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace paraes::support {
#if defined(__x86_64__)

bool tells_upper_halves() noexcept {
  static const bool tells = [] {
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    constexpr unsigned osxsave_and_avx = 3U << 27;
    constexpr unsigned xgetbv_of_xcr1 = 1U << 2;
    return __get_cpuid(1, &a, &b, &c, &d) != 0 && (~c & osxsave_and_avx) == 0 &&
           __get_cpuid_count(0xd, 1, &a, &b, &c, &d) != 0 && (a & xgetbv_of_xcr1) != 0;
  }();
  return tells;
}

bool upper_halves_in_use() noexcept {
  if (!tells_upper_halves()) return false;
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
  constexpr std::uint32_t bits_128_to_255 = 1U << 2;
  constexpr std::uint32_t bits_256_to_511 = 1U << 6;
  return (low & (bits_128_to_255 | bits_256_to_511)) != 0;
}

void clear_upper_halves() noexcept {
  if (tells_upper_halves()) asm volatile("vzeroupper");
}

#else

bool tells_upper_halves() noexcept { return false; }
bool upper_halves_in_use() noexcept { return false; }
void clear_upper_halves() noexcept {}

#endif

}  // namespace paraes::support
