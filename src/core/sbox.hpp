// The S-box of FIPS 197 section 5.1.1 and its inverse, computed at compile time from their
// definition (inverse in GF(2^8), then the affine map), so that no table can have a typing error.
#pragma once

#include <array>
#include <cstdint>

namespace paraes {

// Multiplication by x in GF(2^8) modulo x^8 + x^4 + x^3 + x + 1 (FIPS 197 section 4.2.1).
constexpr std::uint8_t xtime(std::uint8_t a) noexcept {
  return static_cast<std::uint8_t>((a << 1) ^ ((a >> 7) * 0x1b));
}

constexpr std::uint8_t gf_multiply(std::uint8_t a, std::uint8_t b) noexcept {
  std::uint8_t product = 0;
  for (; b != 0; b >>= 1) {
    if ((b & 1) != 0) product ^= a;
    a = xtime(a);
  }
  return product;
}

namespace detail {

constexpr std::array<std::uint8_t, 256> make_sbox() {
  std::array<std::uint8_t, 256> box{};
  // 3 generates the multiplicative group and 0xf6 is its inverse, so p runs through all non-zero
  // elements and q through their inverses.
  std::uint8_t p = 1;
  std::uint8_t q = 1;
  do {
    unsigned y = q;
    for (int i = 1; i <= 4; ++i) y ^= ((q << i) | (q >> (8 - i))) & 0xff;
    box[p] = static_cast<std::uint8_t>(y ^ 0x63);
    p = gf_multiply(p, 3);
    q = gf_multiply(q, 0xf6);
  } while (p != 1);
  box[0] = 0x63;  // 0 has no inverse and maps to itself
  return box;
}

constexpr std::array<std::uint8_t, 256> invert(const std::array<std::uint8_t, 256>& box) {
  std::array<std::uint8_t, 256> inverse{};
  for (unsigned x = 0; x < 256; ++x) inverse[box[x]] = static_cast<std::uint8_t>(x);
  return inverse;
}

}  // namespace detail

inline constexpr std::array<std::uint8_t, 256> sbox = detail::make_sbox();
inline constexpr std::array<std::uint8_t, 256> inverse_sbox = detail::invert(sbox);

}  // namespace paraes
