// GHASH for cores that multiply no polynomials of 64 bits.

#include <arm_neon.h>

#include <array>

#include "src/core/bytes.hpp"
#include "src/kernels/shared.hpp"
#include "src/kernels/target.hpp"

namespace paraes {
namespace {

// Blocks are byte-reversed, and powers of H multiplied by x^-1, as in src/kernels/vector/ghash.inc.

constexpr std::size_t max_blocks = 16;  // per reduction
// The high half of x^128 + x^127 + x^126 + x^121 + 1, the polynomial in reversed bit order.
constexpr std::uint64_t reversed_polynomial = 0xc200000000000000;

PARAES_INLINE poly8x16_t load_reversed(const std::uint8_t* p) {
  const uint8x16_t a = vrev64q_u8(vld1q_u8(p));
  return vreinterpretq_p8_u8(vextq_u8(a, a, 8));
}

PARAES_INLINE poly8x16_t load_power(const std::uint8_t* p) {
  return vreinterpretq_p8_u8(vld1q_u8(p));
}

PARAES_INLINE poly8x16_t add(poly8x16_t a, poly8x16_t b) {
  return vreinterpretq_p8_u8(veorq_u8(vreinterpretq_u8_p8(a), vreinterpretq_u8_p8(b)));
}

// In each half, byte i of the result is byte i + N of `a`, modulo 8.
template <int N>
PARAES_INLINE poly8x16_t rotate(poly8x16_t a) {
  if constexpr (N == 4) {
    return vreinterpretq_p8_u32(vrev64q_u32(vreinterpretq_u32_p8(a)));
  } else {
    static constexpr auto order = [] {
      std::array<std::uint8_t, 16> bytes{};
      for (unsigned i = 0; i < 16; ++i)
        bytes[i] = static_cast<std::uint8_t>(i / 8 * 8 + (i + N) % 8);
      return bytes;
    }();
    return vqtbl1q_p8(a, vld1q_u8(order.data()));
  }
}

// Both halves of a factor, with the rotations that its products need.
struct Factor {
  poly8x16_t by[5];

  PARAES_INLINE explicit Factor(poly8x16_t a)
      : by{a, rotate<1>(a), rotate<2>(a), rotate<3>(a), rotate<4>(a)} {}
};

template <bool High>
PARAES_INLINE uint16x8_t multiply_bytes(poly8x16_t a, poly8x16_t b) {
  return vreinterpretq_u16_p16(High ? vmull_high_p8(a, b)
                                    : vmull_p8(vget_low_p8(a), vget_low_p8(b)));
}

// The words of a carry-less product of 128 bits.
struct Words {
  std::uint64_t low;
  std::uint64_t high;
};

// A sum of carry-less products of 64-bit words a and b. A 16-bit lane i of sums[k] has products of
// byte i of one factor and byte i + k (modulo 8) of the other: for k from 1 to 3 in both ways, for
// k = 4 one way has all of them. They have equal weights, so that one shift per sum, at the end,
// moves them where they belong (Câmara, Gouvêa, López and Dahab, "Fast Software Polynomial
// Multiplication on ARM Processors Using the NEON Engine", 2013).
struct ProductSum {
  uint16x8_t sums[5];

  PARAES_INLINE void reset() {
    PARAES_UNROLL
    for (int k = 0; k < 5; ++k) sums[k] = vdupq_n_u16(0);
  }

  // Adds the product of the low (or high) halves.
  template <bool High>
  PARAES_INLINE void add(const Factor& a, const Factor& b) {
    sums[0] = veorq_u16(sums[0], multiply_bytes<High>(a.by[0], b.by[0]));
    PARAES_UNROLL
    for (int k = 1; k < 4; ++k) {
      const uint16x8_t forth = multiply_bytes<High>(a.by[0], b.by[k]);
      const uint16x8_t back = multiply_bytes<High>(a.by[k], b.by[0]);
      sums[k] = veorq_u16(veorq_u16(sums[k], forth), back);
    }
    sums[4] = veorq_u16(sums[4], multiply_bytes<High>(a.by[0], b.by[4]));
  }

  // Lane i of sums[k] belongs k bytes higher if i + k < 8, and else 8 - k bytes lower: its products
  // have the weight 2 i + k - 8.
  template <int K>
  PARAES_INLINE uint8x16_t shifted() const {
    constexpr std::uint64_t wrapped = ~std::uint64_t{0} << (64 - 16 * K) % 64;
    const uint64x2_t s = vreinterpretq_u64_u16(sums[K]);
    const uint64x2_t moved = vandq_u64(vdupq_laneq_u64(s, 1), vdupq_n_u64(wrapped));
    const uint8x16_t halves = vreinterpretq_u8_u64(veorq_u64(s, moved));
    return vextq_u8(halves, halves, 16 - K);
  }

  PARAES_INLINE Words total() const {
    const uint8x16_t sum = veorq_u8(
        veorq_u8(veorq_u8(shifted<1>(), shifted<2>()), veorq_u8(shifted<3>(), shifted<4>())),
        vreinterpretq_u8_u16(sums[0]));
    const uint64x2_t words = vreinterpretq_u64_u8(sum);
    return {vgetq_lane_u64(words, 0), vgetq_lane_u64(words, 1)};
  }
};

// The sums of the halves of x in the low half, those of y in the high half (Karatsuba).
PARAES_INLINE poly8x16_t fold(poly8x16_t x, poly8x16_t y) {
  const uint64x2_t a = vreinterpretq_u64_p8(x);
  const uint64x2_t b = vreinterpretq_u64_p8(y);
  return vreinterpretq_p8_u64(veorq_u64(vzip1q_u64(a, b), vzip2q_u64(a, b)));
}

// A sum of products of blocks and powers of H that is not yet reduced.
struct Sum {
  ProductSum low;
  ProductSum middle;
  ProductSum high;

  PARAES_INLINE void reset() {
    low.reset();
    middle.reset();
    high.reset();
  }

  PARAES_INLINE void add_halves(poly8x16_t x, poly8x16_t power) {
    const Factor a(x);
    const Factor b(power);
    low.add<false>(a, b);
    high.add<true>(a, b);
  }

  // Adds x·p + y·q; `folded` is fold(p, q).
  PARAES_INLINE void add_pair(poly8x16_t x, poly8x16_t p, poly8x16_t y, poly8x16_t q,
                              poly8x16_t folded) {
    add_halves(x, p);
    add_halves(y, q);
    const Factor a(fold(x, y));
    const Factor b(folded);
    middle.add<false>(a, b);
    middle.add<true>(a, b);
  }

  PARAES_INLINE void add_one(poly8x16_t x, poly8x16_t p) {
    add_halves(x, p);
    middle.add<false>(Factor(fold(x, x)), Factor(fold(p, p)));
  }

  // Reduces by 64 bits twice, by shifts.
  PARAES_INLINE poly8x16_t reduce() const {
    const Words l = low.total();
    const Words h = high.total();
    Words m = middle.total();
    m = {m.low ^ l.low ^ h.low, m.high ^ l.high ^ h.high};
    const std::uint64_t a = l.low;
    const std::uint64_t b = l.high ^ m.low ^ (a << 63) ^ (a << 62) ^ (a << 57);
    const std::uint64_t c = a ^ (a >> 1) ^ (a >> 2) ^ (a >> 7);
    const std::uint64_t d = b ^ (b >> 1) ^ (b >> 2) ^ (b >> 7);
    const std::uint64_t e = c ^ (b << 63) ^ (b << 62) ^ (b << 57);
    return vreinterpretq_p8_u64(
        vcombine_u64(vcreate_u64(e ^ h.low ^ m.high), vcreate_u64(d ^ h.high)));
  }
};

PARAES_INLINE const std::uint8_t* power_of(const GhashKey& key, std::size_t n) {
  return key.powers[GhashKey::max_powers - n];
}

// Hashes `blocks` ≤ max_blocks blocks with one reduction: multiplies block b by H^(blocks − b). The
// first block, which includes the running sum, is last, so that the previous reduction has time to
// complete.
PARAES_INLINE poly8x16_t hash_some(const GhashKey& key, poly8x16_t sum, const std::uint8_t* data,
                                   std::size_t blocks) {
  Sum products;
  products.reset();
  std::size_t n = 0;  // the power of the next block
  for (n = 2; n < blocks; n += 2) {
    const std::uint8_t* const at = data + 16 * (blocks - n);
    products.add_pair(load_reversed(at), load_power(power_of(key, n)), load_reversed(at + 16),
                      load_power(power_of(key, n - 1)),
                      load_power(key.folded[(GhashKey::max_powers - n) / 2]));
  }
  const poly8x16_t first = add(load_reversed(data), sum);
  if (n == blocks) {
    products.add_pair(first, load_power(power_of(key, n)), load_reversed(data + 16),
                      load_power(power_of(key, n - 1)),
                      load_power(key.folded[(GhashKey::max_powers - n) / 2]));
  } else {
    products.add_one(first, load_power(power_of(key, blocks)));
  }
  return products.reduce();
}

}  // namespace

void ghash_p8_init(GhashKey& key, const std::uint8_t h[16]) {
  // H·x^-1: shifts left by one bit in reversed order. The bit that leaves is worth x^-1, which is
  // x^127 + x^6 + x + 1.
  const std::uint64_t high = load_be64(h);
  const std::uint64_t low = load_be64(h + 8);
  const std::uint64_t top = 0 - (high >> 63);
  std::uint8_t* const first_power = key.powers[GhashKey::max_powers - 1];
  store_le128(first_power, (low << 1) ^ (top & 1),
              ((high << 1) | (low >> 63)) ^ (top & reversed_polynomial));
  const poly8x16_t first = load_power(first_power);
  poly8x16_t power = first;
  for (std::size_t n = 2; n <= max_blocks; ++n) {
    Sum product;
    product.reset();
    product.add_one(power, first);
    const poly8x16_t next = product.reduce();
    vst1q_u8(key.powers[GhashKey::max_powers - n], vreinterpretq_u8_p8(next));
    if (n % 2 == 0) {
      vst1q_u8(key.folded[(GhashKey::max_powers - n) / 2], vreinterpretq_u8_p8(fold(next, power)));
    }
    power = next;
  }
}

void ghash_p8(const GhashKey& key, std::uint8_t state[16], const std::uint8_t* data,
              std::size_t blocks) {
  if (blocks == 0) return;
  poly8x16_t sum = load_reversed(state);
  for (; blocks > max_blocks; blocks -= max_blocks, data += 16 * max_blocks) {
    sum = hash_some(key, sum, data, max_blocks);
  }
  sum = hash_some(key, sum, data, blocks);
  const uint8x16_t bytes = vrev64q_u8(vreinterpretq_u8_p8(sum));
  vst1q_u8(state, vextq_u8(bytes, bytes, 8));
}

}  // namespace paraes
