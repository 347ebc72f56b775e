// Tweaks of XTS (IEEE 1619 section 5.2): block k of a data unit has T x^k, where T is the encrypted
// number of the unit and x^128 = x^7 + x^2 + x + 1. Tweaks are secret, exponents are not.

// T x^n for n < 32.
PARAES_INLINE paraes_block tweak_times_power(paraes_block t, paraes_u32 n) {
  const paraes_u32 over = paraes_funnel_left(0, t.w[3], n);
  paraes_block r;
  r.w[3] = paraes_funnel_left(t.w[3], t.w[2], n);
  r.w[2] = paraes_funnel_left(t.w[2], t.w[1], n);
  r.w[1] = paraes_funnel_left(t.w[1], t.w[0], n) ^ over >> 31 ^ over >> 30 ^ over >> 25;
  r.w[0] = t.w[0] << n ^ over ^ over << 1 ^ over << 2 ^ over << 7;
  return r;
}

// T x^32.
PARAES_INLINE paraes_block tweak_times_word(paraes_block t) {
  const paraes_u32 over = t.w[3];
  t.w[3] = t.w[2];
  t.w[2] = t.w[1];
  t.w[1] = t.w[0] ^ over >> 31 ^ over >> 30 ^ over >> 25;
  t.w[0] = over ^ over << 1 ^ over << 2 ^ over << 7;
  return t;
}

// T x^n for n < 128.
PARAES_INLINE paraes_block tweak_shifted(paraes_block t, paraes_u32 n) {
  for (; n >= 32; n -= 32) t = tweak_times_word(t);
  return tweak_times_power(t, n);
}

// T p for any p that is not secret.
PARAES_INLINE paraes_block tweak_times(paraes_block t, paraes_block p) {
  paraes_block sum = zero_block();
  PARAES_UNROLL
  for (int w = 0; w < 4; ++w) {
    for (paraes_u32 bit = 0; bit < 32; ++bit) {
      const paraes_u32 mask = 0u - (p.w[w] >> bit & 1);
      sum.w[0] ^= t.w[0] & mask;
      sum.w[1] ^= t.w[1] & mask;
      sum.w[2] ^= t.w[2] & mask;
      sum.w[3] ^= t.w[3] & mask;
      t = tweak_times_power(t, 1);
    }
  }
  return sum;
}

// T x^(32 s).
PARAES_LARGE paraes_block tweak_of_stretch(paraes_block t, paraes_u32 s) {
  if ((s & 1) != 0) t = tweak_times_word(t);
  if ((s & 2) != 0) t = tweak_times_word(tweak_times_word(t));
  // x^(128 m) = x^(7 m) + x^(2 m) + x^m + 1 where m is a power of two, since squaring is linear.
  s >>= 2;
  paraes_u32 m = 1;
  for (; s != 0 && m <= 16; s >>= 1, m *= 2) {
    if ((s & 1) == 0) continue;
    const paraes_block once = tweak_shifted(t, m);
    const paraes_block twice = tweak_shifted(once, m);
    t = xor_blocks(xor_blocks(t, once), xor_blocks(twice, tweak_shifted(twice, 5 * m)));
  }
  // Only for units of more than 64 KiB. x^4096 = x^224 + x^64 + x^32 + 1, with x^224 reduced.
  paraes_block p;
  p.w[0] = p.w[1] = p.w[2] = 1;
  p.w[3] = 0x87;
  for (; s != 0; s >>= 1) {
    if ((s & 1) != 0) t = tweak_times(t, p);
    p = tweak_times(p, p);
  }
  return t;
}

// Computes stretch tweaks in `out` from unit tweaks in `in`, 4 words each. `tiles` is the number of
// stretches. A thread computes one at a time.
PARAES_ENTRY(xts_stretches, PARAES_GROUP_THREADS, 1) {
  const paraes_u32 each = PARAES_STRETCHES(job->unit_blocks);
  const paraes_u64 threads = (paraes_u64)job->threads * job->groups;
  for (paraes_u64 i = (paraes_u64)job->threads * job->group + job->thread; i < job->tiles;
       i += threads) {
    const paraes_u64 unit = i / each;
    const paraes_block t = load_block(job->in + 16 * unit);
    store_block(job->out + 16 * i, tweak_of_stretch(t, (paraes_u32)(i - unit * each)));
  }
}

// Steps through the tweaks of blocks that are 32 apart. If a unit is a whole number of stretches,
// the threads of a warp-sized group read the same stretch tweak and multiply it by the power of
// their lane.
typedef struct {
  PARAES_GLOBAL const paraes_u8* stretches;
  paraes_u64 stretch;  // first stretch of this unit
  paraes_u32 within;   // number of the block in its unit
  paraes_u32 unit_blocks;
  paraes_u32 unit_stretches;
  paraes_u32 step_stretches;  // stretches of the whole units in 32 blocks
  paraes_u32 step_within;     // blocks left over from these units
} tweak_cursor;

PARAES_INLINE tweak_cursor tweak_cursor_at(const paraes_job* job, paraes_u64 block) {
  const paraes_u32 n = job->unit_blocks;
  const paraes_u64 unit = block >> 32 == 0 ? (paraes_u64)((paraes_u32)block / n) : block / n;
  tweak_cursor c;
  c.stretches = (PARAES_GLOBAL const paraes_u8*)job->scratch;
  c.unit_blocks = n;
  c.unit_stretches = PARAES_STRETCHES(n);
  c.stretch = unit * c.unit_stretches;
  c.within = (paraes_u32)(block - unit * n);
  c.step_stretches = 32 / n * c.unit_stretches;
  c.step_within = 32 % n;
  return c;
}

// Where a unit is a whole number of stretches, the threads of a warp need the same stretch tweaks,
// for a tile as many as there are threads. Each thread loads one of them into shared memory.
// Otherwise every block would wait for global memory, and a kernel has too few threads to hide
// that.
#if defined(PARAES_CUDA) && defined(PARAES_KEYS_SLICED)
#define PARAES_TWEAKS_SHARED
PARAES_INLINE PARAES_SHARED paraes_u32* tweaks_of_warp(const paraes_job* job) {
  return job->shared + 4 * (job->thread - job->thread % 32);
}

PARAES_INLINE int has_shared_tweaks(const tweak_cursor* c) { return c->unit_blocks % 32 == 0; }

// The place of a thread's blocks in their stretches, which is then that of the first one.
PARAES_INLINE paraes_u32 lane_of(const tweak_cursor* c) { return c->within % 32; }

// The tile begins with block `first` of a text of `blocks` blocks.
PARAES_INLINE void share_tweaks(const paraes_job* job, paraes_u64 first, paraes_u64 blocks) {
  const paraes_u32 lane = job->thread % 32;
  const paraes_u64 entry = first / 32 + lane;
  PARAES_WARP_BARRIER();
  if (32 * entry < blocks) {
    share(tweaks_of_warp(job) + 4 * lane,
          load_block((PARAES_GLOBAL const paraes_u8*)job->scratch + 16 * entry));
  }
  PARAES_WARP_BARRIER();
}
#else
#define has_shared_tweaks(c) 0
#define share_tweaks(job, first, blocks)
#endif

// The tweak of block i of a thread, at which the cursor is.
PARAES_INLINE paraes_block tweak_at(const tweak_cursor* c) {
  const paraes_u64 entry = c->stretch + c->within / 32;
  return tweak_times_power(load_block(c->stretches + 16 * entry), c->within % 32);
}

PARAES_INLINE void next_tweak(tweak_cursor* c) {
  c->stretch += c->step_stretches;
  c->within += c->step_within;
  if (c->within >= c->unit_blocks) {
    c->within -= c->unit_blocks;
    c->stretch += c->unit_stretches;
  }
}

// Computes the tweaks of `count` blocks of a thread, from block i on, at which the cursor is, and
// moves it behind them. Block i exists if lanes i < left; the tweaks of others are unspecified.
PARAES_INLINE void next_tweaks(const paraes_job* job, tweak_cursor* c, paraes_block* tweaks,
                               const int count, paraes_u32 i, paraes_u32 lanes, paraes_u32 left) {
#ifdef PARAES_TWEAKS_SHARED
  if (has_shared_tweaks(c)) {
    PARAES_UNROLL
    for (int k = 0; k < count; ++k) {
      tweaks[k] = tweak_times_power(shared_block(tweaks_of_warp(job) + 4 * (i + k)), lane_of(c));
    }
    return;
  }
#endif
  (void)job;
  PARAES_UNROLL
  for (int k = 0; k < count; ++k) {
    tweaks[k] = lanes * (i + k) < left ? tweak_at(c) : zero_block();
    next_tweak(c);
  }
}
