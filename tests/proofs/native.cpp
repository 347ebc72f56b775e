// Calls the harnesses with samples: fixed values at the limits of types, formats and segments, and
// random ones, so that a harness that no longer compiles, or no longer holds, is found where CBMC
// is not.

#include <gtest/gtest.h>

#include <random>

#include "tests/proofs/proof.hpp"

namespace {

std::mt19937_64 random_bits;
std::uint64_t checks = 0;

// any_64() also takes the neighbours of these.
constexpr std::uint64_t limits[] = {0,
                                    16,
                                    24,
                                    40,
                                    56,
                                    72,
                                    88,
                                    104,
                                    128,
                                    256,
                                    4056,
                                    4080,
                                    4096,
                                    16384,
                                    16400,
                                    16456,
                                    32768,
                                    32800,
                                    262144,
                                    1048560,
                                    1048576,
                                    std::uint64_t{1} << 32,
                                    std::uint64_t{1} << 38,
                                    std::uint64_t{1} << 52,
                                    std::uint64_t{1} << 63};

}  // namespace

void check(bool holds, const char* condition) {
  ++checks;
  if (!holds) ADD_FAILURE() << condition;
}

// A limit or the neighbour of one, or a number of any width.
std::uint64_t any_64() {
  const std::uint64_t choice = random_bits();
  if (choice % 2 == 0) return limits[choice / 16 % std::size(limits)] + choice / 2 % 8 - 4;
  return random_bits() >> (choice / 2 % 64);
}
std::uint32_t any_32() { return static_cast<std::uint32_t>(any_64()); }
// Each value, but often those at the limits.
std::uint8_t any_8() {
  static constexpr std::uint8_t common[] = {0, 0, 0, 0, 1, 2, 32, 40, 0x80, 0xff};
  const std::uint64_t choice = random_bits();
  if (choice % 4 != 0) return common[choice / 4 % std::size(common)];
  return static_cast<std::uint8_t>(choice >> 8);
}
bool any_bool() { return random_bits() % 2 != 0; }

#define RUN(name)                                                              \
  TEST(Proofs, name) {                                                         \
    random_bits.seed(1);                                                       \
    checks = 0;                                                                \
    for (int i = 0; i < 100000 && !HasFailure(); ++i) prove_##name();          \
    EXPECT_GE(checks, 100U) << "the samples seldom meet the harness's bounds"; \
  }
HARNESSES(RUN)
