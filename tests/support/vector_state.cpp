#include "tests/support/vector_state.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <type_traits>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace paraes::support {
namespace {

const Kernel* checked = nullptr;

template <auto Function>
struct Check;

template <class Result, class... Arguments, Result (*Kernel::*Function)(Arguments...)>
struct Check<Function> {
  static Result call(Arguments... arguments) {
    clear_upper_halves();
    if constexpr (std::is_void_v<Result>) {
      (checked->*Function)(arguments...);
      note();
    } else {
      const Result result = (checked->*Function)(arguments...);
      note();
      return result;
    }
  }

  static void note() {
    if (!upper_halves_in_use()) return;
    clear_upper_halves();
    ADD_FAILURE() << "a function of " << checked->name << " left upper halves in use";
  }
};

template <auto... Functions>
void wrap(Kernel& row) {
  ((row.*Functions = row.*Functions == nullptr ? nullptr : Check<Functions>::call), ...);
}

}  // namespace

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

Kernel with_vector_check(const Kernel& row) {
  checked = &row;
  Kernel copy = row;
  wrap<&Kernel::expand, &Kernel::ecb_encrypt, &Kernel::ecb_decrypt, &Kernel::cbc_encrypt,
       &Kernel::cbc_decrypt, &Kernel::ctr, &Kernel::ctr_nontemporal,
       &Kernel::ecb_encrypt_nontemporal, &Kernel::ecb_decrypt_nontemporal,
       &Kernel::cbc_decrypt_nontemporal, &Kernel::xts_encrypt_nontemporal,
       &Kernel::xts_decrypt_nontemporal, &Kernel::xts_tweaks, &Kernel::xts_encrypt,
       &Kernel::xts_decrypt, &Kernel::ghash_init, &Kernel::ghash, &Kernel::gcm_encrypt,
       &Kernel::gcm_decrypt, &Kernel::gcm_encrypt_nontemporal, &Kernel::gcm_decrypt_nontemporal,
       &Kernel::gcm_seal, &Kernel::gcm_open, &Kernel::gcm_seal_many, &Kernel::gcm_open_many>(copy);
  return copy;
}

}  // namespace paraes::support
