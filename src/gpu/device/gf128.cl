// Multiplication in the field of GHASH (SP 800-38D section 6.3) in constant time, with integer
// multiplications and without tables.

// An element as in the standard: the top bit of `high` is the coefficient of x^0, the lowest bit of
// `low` that of x^127.
typedef struct {
  paraes_u64 high;
  paraes_u64 low;
} gf128;

PARAES_INLINE gf128 gf128_of_block(paraes_block b) {
  gf128 a;
  a.high = (paraes_u64)paraes_swap_bytes(b.w[0]) << 32 | paraes_swap_bytes(b.w[1]);
  a.low = (paraes_u64)paraes_swap_bytes(b.w[2]) << 32 | paraes_swap_bytes(b.w[3]);
  return a;
}

PARAES_INLINE paraes_block block_of_gf128(gf128 a) {
  paraes_block b;
  b.w[0] = paraes_swap_bytes((paraes_u32)(a.high >> 32));
  b.w[1] = paraes_swap_bytes((paraes_u32)a.high);
  b.w[2] = paraes_swap_bytes((paraes_u32)(a.low >> 32));
  b.w[3] = paraes_swap_bytes((paraes_u32)a.low);
  return b;
}

// The carry-less product. Operands are split so that ones are four bits apart: at most eight
// partial products then meet in one position, and their sum does not carry into the next.
PARAES_INLINE paraes_u64 carryless32(paraes_u32 a, paraes_u32 b) {
  const paraes_u32 a0 = a & 0x11111111, a1 = a & 0x22222222;
  const paraes_u32 a2 = a & 0x44444444, a3 = a & 0x88888888;
  const paraes_u32 b0 = b & 0x11111111, b1 = b & 0x22222222;
  const paraes_u32 b2 = b & 0x44444444, b3 = b & 0x88888888;
  const paraes_u64 c0 = paraes_multiply(a0, b0) ^ paraes_multiply(a1, b3) ^
                        paraes_multiply(a2, b2) ^ paraes_multiply(a3, b1);
  const paraes_u64 c1 = paraes_multiply(a0, b1) ^ paraes_multiply(a1, b0) ^
                        paraes_multiply(a2, b3) ^ paraes_multiply(a3, b2);
  const paraes_u64 c2 = paraes_multiply(a0, b2) ^ paraes_multiply(a1, b1) ^
                        paraes_multiply(a2, b0) ^ paraes_multiply(a3, b3);
  const paraes_u64 c3 = paraes_multiply(a0, b3) ^ paraes_multiply(a1, b2) ^
                        paraes_multiply(a2, b1) ^ paraes_multiply(a3, b0);
  return (c0 & 0x1111111111111111) | (c1 & 0x2222222222222222) | (c2 & 0x4444444444444444) |
         (c3 & 0x8888888888888888);
}

// Joins the three products of Karatsuba's method on 64-bit words: of the low words, of the high
// words, and of the sums of both.
PARAES_INLINE gf128 carryless_joined(paraes_u64 low, paraes_u64 high, paraes_u64 middle) {
  middle ^= low ^ high;
  gf128 r;
  r.low = low ^ middle << 32;
  r.high = high ^ middle >> 32;
  return r;
}

PARAES_LARGE gf128 carryless64(paraes_u64 a, paraes_u64 b) {
  const paraes_u32 a0 = (paraes_u32)a, a1 = (paraes_u32)(a >> 32);
  const paraes_u32 b0 = (paraes_u32)b, b1 = (paraes_u32)(b >> 32);
  return carryless_joined(carryless32(a0, b0), carryless32(a1, b1), carryless32(a0 ^ a1, b0 ^ b1));
}

// The element of a product, which Karatsuba's method has of the low words, the high words, and the
// sums of both. Products may be sums of products.
PARAES_INLINE gf128 gf128_reduced(gf128 low, gf128 high, gf128 middle) {
  middle.low ^= low.low ^ high.low;
  middle.high ^= low.high ^ high.high;
  paraes_u64 v0 = low.low;
  paraes_u64 v1 = low.high ^ middle.low;
  paraes_u64 v2 = high.low ^ middle.high;
  paraes_u64 v3 = high.high;
  // The bit order of the standard puts the 255-bit product one position too low.
  v3 = v3 << 1 | v2 >> 63;
  v2 = v2 << 1 | v1 >> 63;
  v1 = v1 << 1 | v0 >> 63;
  v0 = v0 << 1;
  // x^128 = x^7 + x^2 + x + 1, a word at a time from the highest powers.
  v2 ^= v0 ^ v0 >> 1 ^ v0 >> 2 ^ v0 >> 7;
  v1 ^= v0 << 63 ^ v0 << 62 ^ v0 << 57;
  v3 ^= v1 ^ v1 >> 1 ^ v1 >> 2 ^ v1 >> 7;
  v2 ^= v1 << 63 ^ v1 << 62 ^ v1 << 57;
  gf128 r;
  r.high = v3;
  r.low = v2;
  return r;
}

PARAES_LARGE gf128 gf128_multiply(gf128 a, gf128 b) {
  return gf128_reduced(carryless64(a.low, b.low), carryless64(a.high, b.high),
                       carryless64(a.low ^ a.high, b.low ^ b.high));
}

// a x^n for n < 32. The bits shifted out at the low end are the powers from x^128 on.
PARAES_INLINE gf128 gf128_times_power(gf128 a, paraes_u32 n) {
  if (n == 0) return a;
  const paraes_u64 over = a.low << (64 - n);
  gf128 r;
  r.low = a.low >> n | a.high << (64 - n);
  r.high = a.high >> n ^ over ^ over >> 1 ^ over >> 2 ^ over >> 7;
  return r;
}
