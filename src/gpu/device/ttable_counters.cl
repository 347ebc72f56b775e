// Counter blocks of the `ttable` kernel. Unless a carry goes further, only the last two bytes of a
// thread's counters change. Bytes 15 and 14 enter columns 0 and 1 of round 1, so a block needs only
// 2 of the 16 look-ups of round 1 and 8 of those of round 2. The rest is computed once.

typedef struct {
  paraes_block iv;
  paraes_u64 first;
  paraes_u32 low;        // low 16 bits of the first counter
  paraes_u32 word;       // word 3 of the state, without those bits
  paraes_u32 first0;     // round 1: column 0 without the part of byte 15
  paraes_u32 first1;     // round 1: column 1 without the part of byte 14
  paraes_u32 second[4];  // round 2: what columns 2 and 3 of round 1 contribute
} paraes_counters;

// The entry for byte `row` of `s` in the round table of that row.
PARAES_INLINE paraes_u32 row_entry(PARAES_SHARED const paraes_u32* t, const int row, paraes_u32 s,
                                   paraes_u32 lane4) {
  const paraes_u32 address = entry_address(s, row, lane4);
#if PARAES_TABLES == 1
  const paraes_u32 e = entry_of(t, 0, address);
  return row == 0   ? e
         : row == 1 ? paraes_rotate8(e)
         : row == 2 ? paraes_rotate16(e)
                    : paraes_rotate24(e);
#elif PARAES_TABLES == 2
  const paraes_u32 e = entry_of(t, row % 2, address);
  return row < 2 ? e : paraes_rotate16(e);
#else
  return entry_of(t, row, address);
#endif
}

PARAES_INLINE paraes_u32 begin_counters(paraes_counters* c, const paraes_job* job,
                                        PARAES_KEY_SPACE const paraes_u32* key, paraes_block iv,
                                        paraes_u64 first, paraes_u32 lanes, const int count,
                                        paraes_u32 flags) {
  PARAES_SHARED const paraes_u32* t = job->shared;
  const paraes_u32 lane4 = job->thread % 32 * 4;
  (void)lanes;
  (void)flags;  // this kernel is not constant-time
  c->iv = iv;
  c->first = first;
  if (count == PARAES_COUNT_LITTLE) return PARAES_BLOCKS_PER_THREAD;
  paraes_block b = counter_block(iv, first, count);
  c->low = paraes_swap_bytes(b.w[3]) & 0xffffu;
  PARAES_UNROLL
  for (int w = 0; w < 4; ++w) b.w[w] ^= key[w];
  c->word = (b.w[3] & 0xffffu) | (key[3] & 0xffff0000u);
  c->first0 = key[4] ^ row_entry(t, 0, b.w[0], lane4) ^ row_entry(t, 1, b.w[1], lane4) ^
              row_entry(t, 2, b.w[2], lane4);
  c->first1 = key[5] ^ row_entry(t, 0, b.w[1], lane4) ^ row_entry(t, 1, b.w[2], lane4) ^
              row_entry(t, 3, b.w[0], lane4);
  const paraes_u32 n2 = table_column(t, b.w[2], b.w[3], b.w[0], b.w[1], lane4, turned(key[6]));
  const paraes_u32 n3 = table_column(t, b.w[3], b.w[0], b.w[1], b.w[2], lane4, turned(key[7]));
  c->second[0] = key[8] ^ row_entry(t, 2, n2, lane4) ^ row_entry(t, 3, n3, lane4);
  c->second[1] = key[9] ^ row_entry(t, 1, n2, lane4) ^ row_entry(t, 2, n3, lane4);
  c->second[2] = key[10] ^ row_entry(t, 0, n2, lane4) ^ row_entry(t, 1, n3, lane4);
  c->second[3] = key[11] ^ row_entry(t, 3, n2, lane4) ^ row_entry(t, 0, n3, lane4);
  return (0xffffu - c->low) / 32 + 1;
}

PARAES_INLINE void encrypt_counters(const paraes_counters* c, const paraes_job* job,
                                    PARAES_KEY_SPACE const paraes_u32* key, paraes_u32 j,
                                    paraes_u32* s, const int count) {
  PARAES_SHARED const paraes_u32* t = job->shared;
  const paraes_u32 lane4 = job->thread % 32 * 4;
  if (count == PARAES_COUNT_LITTLE) {
    PARAES_UNROLL
    for (int i = 0; i < PARAES_BATCH; ++i) {
      const paraes_block b = counter_block(c->iv, c->first + 32 * (j + i), count);
      PARAES_UNROLL
      for (int w = 0; w < 4; ++w) s[w * PARAES_BATCH + i] = b.w[w];
    }
    encrypt_batch(job, key, s);
    return;
  }
  PARAES_UNROLL
  for (int i = 0; i < PARAES_BATCH; ++i) {
    const paraes_u32 word = c->word ^ paraes_swap_bytes(c->low + 32 * (j + i));
    const paraes_u32 n0 = c->first0 ^ row_entry(t, 3, word, lane4);
    const paraes_u32 n1 = c->first1 ^ row_entry(t, 2, word, lane4);
    s[i] = c->second[0] ^ row_entry(t, 0, n0, lane4) ^ row_entry(t, 1, n1, lane4);
    s[PARAES_BATCH + i] = c->second[1] ^ row_entry(t, 0, n1, lane4) ^ row_entry(t, 3, n0, lane4);
    s[2 * PARAES_BATCH + i] =
        c->second[2] ^ row_entry(t, 2, n0, lane4) ^ row_entry(t, 3, n1, lane4);
    s[3 * PARAES_BATCH + i] =
        c->second[3] ^ row_entry(t, 1, n0, lane4) ^ row_entry(t, 2, n1, lane4);
  }
  table_rounds(job, key, s, 3, 0);
}
