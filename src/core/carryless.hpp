// Carry-less products in constant time, with integer multiplications and without tables. Plain
// C++, so that the tests in tests/proofs can prove it.
#pragma once

#include <cstdint>

namespace paraes {

// Low 64 bits of the carry-less product. The operands are split so that set bits are four positions
// apart. Up to 15 partial products in one position then add up without a carry into the next one;
// only the highest position can have 16, whose carry leaves the word.
inline std::uint64_t carryless_low(std::uint64_t a, std::uint64_t b) noexcept {
  constexpr std::uint64_t mask0 = 0x1111111111111111;
  constexpr std::uint64_t mask1 = mask0 << 1;
  constexpr std::uint64_t mask2 = mask0 << 2;
  constexpr std::uint64_t mask3 = mask0 << 3;
  const std::uint64_t a0 = a & mask0;
  const std::uint64_t a1 = a & mask1;
  const std::uint64_t a2 = a & mask2;
  const std::uint64_t a3 = a & mask3;
  const std::uint64_t b0 = b & mask0;
  const std::uint64_t b1 = b & mask1;
  const std::uint64_t b2 = b & mask2;
  const std::uint64_t b3 = b & mask3;
  const std::uint64_t c0 = (a0 * b0) ^ (a1 * b3) ^ (a2 * b2) ^ (a3 * b1);
  const std::uint64_t c1 = (a0 * b1) ^ (a1 * b0) ^ (a2 * b3) ^ (a3 * b2);
  const std::uint64_t c2 = (a0 * b2) ^ (a1 * b1) ^ (a2 * b0) ^ (a3 * b3);
  const std::uint64_t c3 = (a0 * b3) ^ (a1 * b2) ^ (a2 * b1) ^ (a3 * b0);
  return (c0 & mask0) | (c1 & mask1) | (c2 & mask2) | (c3 & mask3);
}

inline std::uint64_t reverse_bits(std::uint64_t a) noexcept {
  a = __builtin_bswap64(a);
  a = ((a >> 4) & 0x0f0f0f0f0f0f0f0f) | ((a & 0x0f0f0f0f0f0f0f0f) << 4);
  a = ((a >> 2) & 0x3333333333333333) | ((a & 0x3333333333333333) << 2);
  return ((a >> 1) & 0x5555555555555555) | ((a & 0x5555555555555555) << 1);
}

}  // namespace paraes
