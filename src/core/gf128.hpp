// Multiplication in the field of GHASH (SP 800-38D section 6.3) in constant time, without tables.
#pragma once

#include <cstdint>

#include "paraes/secret.hpp"
#include "src/core/bytes.hpp"
#include "src/core/carryless.hpp"

namespace paraes {

// An element as in the standard: the top bit of `high` is the coefficient of x^0, the lowest bit of
// `low` that of x^127.
struct Gf128 {
  std::uint64_t high;
  std::uint64_t low;
};

inline Gf128 load_gf128(const std::uint8_t block[16]) noexcept {
  return {load_be64(block), load_be64(block + 8)};
}

inline void store_gf128(std::uint8_t block[16], Gf128 a) noexcept {
  store_be128(block, a.high, a.low);
}

// A factor, prepared for many multiplications by it.
struct Gf128Factor {
  std::uint64_t part[3];      // low, high, low ^ high (Karatsuba)
  std::uint64_t reversed[3];  // these three bit-reversed, for the high halves of the products
};

inline Gf128Factor make_factor(Gf128 a) noexcept {
  Gf128Factor f;
  f.part[0] = a.low;
  f.part[1] = a.high;
  f.part[2] = a.low ^ a.high;
  for (int i = 0; i < 3; ++i) f.reversed[i] = reverse_bits(f.part[i]);
  return f;
}

inline Gf128 multiply(Gf128 a, const Gf128Factor& f) noexcept {
  const std::uint64_t part[3] = {a.low, a.high, a.low ^ a.high};
  std::uint64_t low[3];
  std::uint64_t high[3];
  for (int i = 0; i < 3; ++i) {
    low[i] = carryless_low(part[i], f.part[i]);
    // The high half of a product is the low half of the product of the reversed operands, reversed.
    high[i] = reverse_bits(carryless_low(reverse_bits(part[i]), f.reversed[i])) >> 1;
  }
  low[2] ^= low[0] ^ low[1];
  high[2] ^= high[0] ^ high[1];
  std::uint64_t v0 = low[0];
  std::uint64_t v1 = high[0] ^ low[2];
  std::uint64_t v2 = low[1] ^ high[2];
  std::uint64_t v3 = high[1];
  // The bit order of the standard puts the 255-bit product one position too low.
  v3 = (v3 << 1) | (v2 >> 63);
  v2 = (v2 << 1) | (v1 >> 63);
  v1 = (v1 << 1) | (v0 >> 63);
  v0 = v0 << 1;
  // Reduce modulo x^128 + x^7 + x^2 + x + 1, one word at a time from the highest powers.
  v2 ^= v0 ^ (v0 >> 1) ^ (v0 >> 2) ^ (v0 >> 7);
  v1 ^= (v0 << 63) ^ (v0 << 62) ^ (v0 << 57);
  v3 ^= v1 ^ (v1 >> 1) ^ (v1 >> 2) ^ (v1 >> 7);
  v2 ^= (v1 << 63) ^ (v1 << 62) ^ (v1 << 57);
  return {v3, v2};
}

// a^n for n ≥ 1. Constant-time in `a`; the exponent is public.
inline Gf128 power(Gf128 a, std::uint64_t n) noexcept {
  Gf128 result{std::uint64_t{1} << 63, 0};
  for (Gf128 square = a; n != 0; n >>= 1) {
    Gf128Factor factor = make_factor(square);
    if ((n & 1) != 0) result = multiply(result, factor);
    square = multiply(square, factor);
    secure_zero(&factor, sizeof factor);
  }
  return result;
}

}  // namespace paraes
