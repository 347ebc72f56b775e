// GHASH by integer multiplications for up to 32 lanes: sums of PARAES_HASH_TERMS products, by
// H^(PARAES_HASH_TERMS lanes) down to H^lanes, are reduced once. All threads multiply by these
// factors, so their nine words of Karatsuba's method lie in shared memory, cut into the parts that
// are multiplied.
//
// Not on AMD's chips, for which Clang keeps elements in scratch memory here.
#if !defined(PARAES_HASH_TABLES) && !defined(__AMDGCN__)
#define PARAES_HASH_SUMS
#define PARAES_FACTORS(job) ((job)->shared + 4 * PARAES_HASH_THREADS)
#define PARAES_EVERY_FOURTH 0x11111111u

// Word w of the nine words of a factor, which are its own words and their sums.
PARAES_INLINE paraes_u32 factor_word(gf128 a, const int w) {
  const paraes_u32 a0 = (paraes_u32)a.low, a1 = (paraes_u32)(a.low >> 32);
  const paraes_u32 a2 = (paraes_u32)a.high, a3 = (paraes_u32)(a.high >> 32);
  return w == 0   ? a0
         : w == 1 ? a1
         : w == 2 ? a0 ^ a1
         : w == 3 ? a2
         : w == 4 ? a3
         : w == 5 ? a2 ^ a3
         : w == 6 ? a0 ^ a2
         : w == 7 ? a1 ^ a3
                  : a0 ^ a1 ^ a2 ^ a3;
}

// A word in four parts: bits 0, 4, 8, …; 1, 5, …; 2, 6, …; and 3, 7, …, the last two moved by two
// places. Products of parts do not carry into each other: see carryless32().
PARAES_INLINE void split(paraes_u32 a, paraes_u32* parts) {
  parts[0] = a & PARAES_EVERY_FOURTH;
  parts[1] = a & 2 * PARAES_EVERY_FOURTH;
  parts[2] = a >> 2 & PARAES_EVERY_FOURTH;
  parts[3] = a >> 2 & 2 * PARAES_EVERY_FOURTH;
}

// Stores factor k = t / 9, which is H^(lanes (PARAES_HASH_TERMS - k)), in eight words for each word
// w = t % 9: its parts, and the sums of the first and third, and of the second and fourth.
PARAES_INLINE void build_factors(const paraes_job* job, PARAES_GLOBAL const paraes_u32* powers,
                                 paraes_u32 lanes) {
  const paraes_u32 t = job->thread;
  PARAES_BARRIER();
  if (t < 9 * PARAES_HASH_TERMS) {
    const gf128 f = get_power(powers + 4 * (lanes * (PARAES_HASH_TERMS - t / 9) - 1));
    paraes_u32 parts[4];
    split(factor_word(f, (int)(t % 9)), parts);
    PARAES_SHARED paraes_u32* to = PARAES_FACTORS(job) + 8 * t;
    for (int i = 0; i < 4; ++i) to[i] = parts[i];
    to[4] = parts[0] ^ parts[2];
    to[5] = parts[1] ^ parts[3];
  }
  PARAES_BARRIER();
}

// The bits of a sum of products of parts: those at 0, 4, 8, … are right in c0, the next ones in c1,
// and the next ones in c2.
PARAES_INLINE paraes_u64 joined(paraes_u64 c0, paraes_u64 c1, paraes_u64 c2) {
  return (c0 & 0x1111111111111111) | (c1 & 0x2222222222222222) | (c2 & 0x4444444444444444);
}

// The sum of the products of word w of some elements and of the factors, by Karatsuba's method on
// pairs of parts.
PARAES_INLINE paraes_u64 sum_of_products(PARAES_SHARED const paraes_u32* factors, const gf128* x,
                                         const int w) {
  paraes_u64 c[9];
  PARAES_UNROLL
  for (int i = 0; i < 9; ++i) c[i] = 0;
  PARAES_UNROLL
  for (int k = 0; k < PARAES_HASH_TERMS; ++k) {
    paraes_u32 a[4];
    split(factor_word(x[k], w), a);
    const paraes_block b = shared_block(factors + 8 * (9 * k + w));
    const uint2 m = *(PARAES_SHARED const uint2*)(factors + 8 * (9 * k + w) + 4);
    const paraes_u32 s0 = a[0] ^ a[2], s1 = a[1] ^ a[3];
    c[0] ^= paraes_multiply(a[0], b.w[0]);
    c[1] ^= paraes_multiply(a[0], b.w[1]) ^ paraes_multiply(a[1], b.w[0]);
    c[2] ^= paraes_multiply(a[1], b.w[1]);
    c[3] ^= paraes_multiply(a[2], b.w[2]);
    c[4] ^= paraes_multiply(a[2], b.w[3]) ^ paraes_multiply(a[3], b.w[2]);
    c[5] ^= paraes_multiply(a[3], b.w[3]);
    c[6] ^= paraes_multiply(s0, m.x);
    c[7] ^= paraes_multiply(s0, m.y) ^ paraes_multiply(s1, m.x);
    c[8] ^= paraes_multiply(s1, m.y);
  }
  const paraes_u64 low = joined(c[0], c[1], c[2]);
  const paraes_u64 high = joined(c[3], c[4], c[5]);
  const paraes_u64 middle = joined(c[6], c[7], c[8]) ^ low ^ high;
  return low ^ middle << 2 ^ high << 4;
}

// The sum of the products of x[k] and factor k.
PARAES_LARGE gf128 products_with_factors(PARAES_SHARED const paraes_u32* factors, const gf128* x) {
  paraes_u64 p[9];
  PARAES_UNROLL
  for (int w = 0; w < 9; ++w) p[w] = sum_of_products(factors, x, w);
  return gf128_reduced(carryless_joined(p[0], p[1], p[2]), carryless_joined(p[3], p[4], p[5]),
                       carryless_joined(p[6], p[7], p[8]));
}

// Like hash_of_lane() in ghash.cl, without the last multiplication. Horner's rule takes
// PARAES_HASH_TERMS blocks at a time: the sum so far and all blocks but the last are multiplied,
// and that is added. Zeros in front fill the first time.
PARAES_INLINE gf128 hash_by_sums(const paraes_job* job, PARAES_GLOBAL const paraes_u8* text,
                                 paraes_u64 bytes, paraes_u64 n, paraes_u32 lane,
                                 paraes_u32 lanes) {
  const paraes_u64 first = (n - 1 - lane) & (lanes - 1);
  const paraes_u64 count = lane < n ? (n - 1 - first) / lanes + 1 : 0;
  // Block `at` of the lane is block first + lanes at of the message. The first may be negative.
  const paraes_u64 whole = bytes / 16;
  gf128 x[PARAES_HASH_TERMS];
  PARAES_UNROLL
  for (int k = 0; k < PARAES_HASH_TERMS; ++k) x[k].high = x[k].low = 0;
  const paraes_u64 times = (count + PARAES_HASH_TERMS - 2) / PARAES_HASH_TERMS;
  paraes_u64 at = count - 1 - PARAES_HASH_TERMS * times;
  if (count == 0) return x[0];
  if (at == 0) x[0] = gf128_of_block(hash_input(text, bytes, first));
  for (paraes_u64 i = 0; i < times; ++i) {
    paraes_block next[PARAES_HASH_TERMS];
    PARAES_UNROLL
    for (int k = 0; k < PARAES_HASH_TERMS; ++k) {
      ++at;
      const paraes_u64 block = first + lanes * at;
      next[k] = zero_block();
      if (at < count) {
        next[k] = block < whole ? load_text(text + 16 * block, block + 1 == whole)
                                : hash_input(text, bytes, block);
      }
    }
    PARAES_UNROLL
    for (int k = 0; k < PARAES_HASH_TERMS - 1; ++k) x[k + 1] = gf128_of_block(next[k]);
    const gf128 last = gf128_of_block(next[PARAES_HASH_TERMS - 1]);
    x[0] = products_with_factors(PARAES_FACTORS(job), x);
    x[0].high ^= last.high;
    x[0].low ^= last.low;
  }
  return x[0];
}
#endif
