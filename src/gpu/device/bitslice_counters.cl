// Counter blocks of the bitsliced kernel. They are computed as planes, so that only the key stream
// has to be transposed.

typedef struct {
  paraes_block iv;
  paraes_u64 first;
  paraes_u32 lanes;  // the counters of slices differ by this power of two
  int is_public;
} paraes_counters;

PARAES_INLINE paraes_u32 begin_counters(paraes_counters* c, const paraes_job* job,
                                        PARAES_GLOBAL const paraes_u32* key, paraes_block iv,
                                        paraes_u64 first, paraes_u32 lanes, const int count,
                                        paraes_u32 flags) {
  (void)job;
  (void)key;
  c->iv = iv;
  c->first = first;
  c->lanes = lanes;
  c->is_public = count == PARAES_COUNT_BIG ||
                 (count == PARAES_COUNT_32 && (flags & PARAES_SECRET_COUNTER) == 0);
  return PARAES_BLOCKS_PER_THREAD;
}

// A word whose bits all equal bit i of `a`.
PARAES_INLINE paraes_u32 spread_bit(paraes_u32 a, int i) {
  return (paraes_u32)((int)(a << (31 - i)) >> 31);
}

// Adds j `lanes` to the counter in slice j, for all 32 slices, and returns the carry. Plane n[i] is
// bit i of the counter, for i < bits; before the call it is the same in all slices. Only bits 0 to
// 9 of j `lanes` can be ones; higher bits receive only the carry.
PARAES_INLINE paraes_u32 add_slices(paraes_u32* n, const int bits, paraes_u32 lanes) {
  // Bit i of j in slice j, then moved up by the logarithm of `lanes`.
  paraes_u32 j[10] = {0xaaaaaaaau, 0xccccccccu, 0xf0f0f0f0u, 0xff00ff00u, 0xffff0000u,
                      0,           0,           0,           0,           0};
  PARAES_UNROLL
  for (int bit = 1; bit < 6; ++bit) {
    PARAES_UNROLL
    for (int i = 9; i > 0; --i) j[i] = lanes >> bit != 0 ? j[i - 1] : j[i];
    j[0] = lanes >> bit != 0 ? 0 : j[0];
  }
  paraes_u32 carry = 0;
  PARAES_UNROLL
  for (int i = 0; i < 10; ++i) {
    const paraes_u32 a = n[i];
    n[i] = a ^ j[i] ^ carry;
    carry = (a & j[i]) | (carry & (a | j[i]));
  }
  PARAES_UNROLL
  for (int i = 10; i < bits; ++i) {
    const paraes_u32 a = n[i];
    n[i] = a ^ carry;
    carry &= a;
  }
  return carry;
}

// Sets slice j of the state to `b`, the counter of the thread's first block, plus j `lanes`.
PARAES_LARGE void counter_planes(paraes_block b, paraes_u32* s, paraes_u32 lanes, const int count) {
  const int little = count == PARAES_COUNT_LITTLE;
  paraes_u32 n[128];
  PARAES_UNROLL
  for (int i = 0; i < 128; ++i) {
    n[i] = spread_bit(little ? b.w[i / 32] : paraes_swap_bytes(b.w[3 - i / 32]), i % 32);
  }
  paraes_u32 carry = add_slices(n, 32, lanes);
  // Only counters of 32 bits may be secret. Few tiles take the branch. In CTR, LLVM for AMD would
  // keep a part of the state in scratch because of it: there, all tiles add the carry.
#ifdef PARAES_HIP
  const int carries = count == PARAES_COUNT_BIG || carry != 0;
#else
  const int carries = carry != 0;
#endif
  if (count != PARAES_COUNT_32 && carries) {
    PARAES_UNROLL
    for (int i = 32; i < 128; ++i) {
      const paraes_u32 a = n[i];
      n[i] = a ^ carry;
      carry &= a;
    }
  }
  PARAES_UNROLL
  for (int i = 0; i < 128; ++i) s[little ? i : 8 * (15 - i / 8) + i % 8] = n[i];
}

// One column after round 1, into `to`, if only the byte in row `row` before MixColumns varies
// between slices. v are the planes of that byte without the constant of SubBytes. `word` is the
// rest of the column: what the constant bytes, that constant and the round key contribute.
PARAES_INLINE void varying_column(paraes_u32 word, const int row, const paraes_u32* v,
                                  paraes_u32* to) {
  PARAES_UNROLL
  for (int i = 0; i < 8; ++i) {
    const int reduces = i == 1 || i == 3 || i == 4;
    const paraes_u32 twice = reduces ? v[i - 1] ^ v[7] : v[(i + 7) % 8];
    to[8 * row + i] = spread_bit(word, 8 * row + i) ^ twice;
    // MixColumns adds three times the byte to the row above, and the byte to the other two.
    const int above = 8 * ((row + 3) % 4) + i;
    to[above] = paraes_xor3(spread_bit(word, above), twice, v[i]);
    const int next = 8 * ((row + 1) % 4) + i;
    to[next] = spread_bit(word, next) ^ v[i];
    const int opposite = 8 * ((row + 2) % 4) + i;
    to[opposite] = spread_bit(word, opposite) ^ v[i];
  }
}

// Computes the state after the substitution of round 2, if the thread's counters differ in their
// last two bytes only. All other bytes of round 1 are then the same in all slices, and so are
// columns 2 and 3 in round 2. Their substitutions are computed on words instead of planes.
PARAES_LARGE void hoisted_rounds(PARAES_GLOBAL const paraes_u32* key, paraes_block b,
                                 paraes_u32 lanes, paraes_u32* s) {
  PARAES_GLOBAL const paraes_u32* words = key + 2 * PARAES_SLICED_ROUNDS_WORDS;
  // Bytes 15 and 14, which hold bits 0 to 7 and 8 to 15 of the counter.
  paraes_u32 low[16];
  PARAES_UNROLL
  for (int i = 0; i < 16; ++i) low[i] = spread_bit(paraes_swap_bytes(b.w[3]), i);
  add_slices(low, 16, lanes);
  PARAES_UNROLL
  for (int i = 0; i < 16; ++i) low[i] ^= key[8 * (15 - i / 8) + i % 8];
  sub_bytes(low);
  sub_bytes(low + 8);

  paraes_u32 x[8];
  PARAES_UNROLL
  for (int w = 0; w < 8; ++w) x[w] = w < 4 ? b.w[w % 4] ^ words[w % 4] : 0;
  sub_bytes_of_words(x);
  // Drop the two varying bytes; varying_column adds them. Then add the constant of SubBytes, which
  // the circuit leaves out, to all bytes.
  x[3] &= 0xffffu;
  PARAES_UNROLL
  for (int w = 0; w < 4; ++w) x[w] ^= 0x63636363u;
  paraes_u32 z[4];
  PARAES_UNROLL
  for (int c = 0; c < 4; ++c) z[c] = mix_word(shifted_column(x, c)) ^ words[4 + c];
  varying_column(z[0], 3, low, s);
  varying_column(z[1], 2, low + 8, s + 32);
  PARAES_UNROLL
  for (int p = 0; p < 64; p += 8) sub_bytes(s + p);
  paraes_u32 q[8];
  PARAES_UNROLL
  for (int w = 0; w < 8; ++w) q[w] = w < 2 ? z[2 + w % 2] : 0;
  transpose_bytes(q);
  sub_bytes(q);
  PARAES_UNROLL
  for (int p = 0; p < 64; ++p) s[64 + p] = spread_bit(q[p % 8], p / 8 % 4 * 8 + p / 32);
}

PARAES_INLINE void encrypt_counters(const paraes_counters* c, const paraes_job* job,
                                    PARAES_GLOBAL const paraes_u32* key, paraes_u32 j,
                                    paraes_u32* s, const int count) {
  const paraes_block b = counter_block(c->iv, c->first, count);
  const paraes_u32 low = paraes_swap_bytes(b.w[3]) & 0xffffu;
  paraes_u32 round = 2;
  (void)j;
  if (c->is_public && low + c->lanes * (PARAES_BLOCKS_PER_THREAD - 1) <= 0xffffu) {
    hoisted_rounds(key, b, c->lanes, s);
  } else {
    counter_planes(b, s, c->lanes, count);
    add_round_key(s, key);
    substitute_all(s, 0);
    round = 1;
#ifdef PARAES_HIP
    // hipRTC has no registers for a state that comes from both branches.
    cipher_rounds(job, key, s, 1, 0);
    transpose_all(s);
    return;
#endif
  }
  cipher_rounds(job, key, s, round, 0);
  transpose_all(s);
}

// Converts `count` schedules in `in` to sliced keys in `out`. Each thread writes single words.
PARAES_ENTRY(slice_keys, PARAES_GROUP_THREADS, 1) {
  PARAES_GLOBAL const paraes_u32* schedules = (PARAES_GLOBAL const paraes_u32*)job->in;
  PARAES_GLOBAL paraes_u32* sliced = (PARAES_GLOBAL paraes_u32*)job->out;
  const paraes_u64 words = (paraes_u64)PARAES_SLICED_KEY_WORDS * job->count;
  const paraes_u64 threads = (paraes_u64)job->threads * job->groups;
  for (paraes_u64 i = (paraes_u64)job->threads * job->group + job->thread; i < words;
       i += threads) {
    const paraes_u64 key = i / PARAES_SLICED_KEY_WORDS;
    const paraes_u32 word = (paraes_u32)(i - key * PARAES_SLICED_KEY_WORDS);
    if (word >= 2 * PARAES_SLICED_ROUNDS_WORDS) {
      sliced[i] = schedules[120 * key + word - 2 * PARAES_SLICED_ROUNDS_WORDS];
      continue;
    }
    const paraes_u32 decrypt = word >= PARAES_SLICED_ROUNDS_WORDS;
    const paraes_u32 plane = decrypt ? word - PARAES_SLICED_ROUNDS_WORDS : word;
    const paraes_u32 round = plane / 128;
    // Encryption adds the constant of SubBytes after the circuit, decryption before it.
    const paraes_u32 offset = decrypt ? round != job->rounds : round != 0;
    const paraes_u32 bits = schedules[120 * key + (decrypt ? 60 : 0) + plane / 32];
    sliced[i] = round > job->rounds
                    ? 0u
                    : 0u - ((bits >> plane % 32 ^ (offset ? 0x63u >> plane % 8 : 0u)) & 1u);
  }
}
