// Counter blocks computed one by one, for kernels that work block by block.

// How counter_block adds b to the first counter block.
#define PARAES_COUNT_BIG 0     // CTR: a big-endian number of 128 bits
#define PARAES_COUNT_32 1      // GCM: only the low 32 bits of that number
#define PARAES_COUNT_LITTLE 2  // numbers of XTS data units: little-endian, 128 bits

PARAES_INLINE paraes_block counter_block(paraes_block iv, paraes_u64 b, const int count) {
  if (count == PARAES_COUNT_32) {
    iv.w[3] = paraes_swap_bytes(paraes_swap_bytes(iv.w[3]) + (paraes_u32)b);
    return iv;
  }
  const int big = count == PARAES_COUNT_BIG;
  paraes_u64 low = big ? (paraes_u64)paraes_swap_bytes(iv.w[2]) << 32 | paraes_swap_bytes(iv.w[3])
                       : (paraes_u64)iv.w[1] << 32 | iv.w[0];
  paraes_u64 high = big ? (paraes_u64)paraes_swap_bytes(iv.w[0]) << 32 | paraes_swap_bytes(iv.w[1])
                        : (paraes_u64)iv.w[3] << 32 | iv.w[2];
  low += b;
  high += low < b ? 1 : 0;
  if (big) {
    iv.w[0] = paraes_swap_bytes((paraes_u32)(high >> 32));
    iv.w[1] = paraes_swap_bytes((paraes_u32)high);
    iv.w[2] = paraes_swap_bytes((paraes_u32)(low >> 32));
    iv.w[3] = paraes_swap_bytes((paraes_u32)low);
  } else {
    iv.w[0] = (paraes_u32)low;
    iv.w[1] = (paraes_u32)(low >> 32);
    iv.w[2] = (paraes_u32)high;
    iv.w[3] = (paraes_u32)(high >> 32);
  }
  return iv;
}

#ifndef PARAES_OWN_COUNTERS
// The counters of one thread: that of block `first` and of every 32nd block after it. (Only the
// bitsliced kernel has other values of `lanes` than 32.)
// begin_counters returns for how many of the thread's blocks the structure is valid. `flags` are
// those of the message.
typedef struct {
  paraes_block iv;
  paraes_u64 first;
} paraes_counters;

PARAES_INLINE paraes_u32 begin_counters(paraes_counters* c, const paraes_job* job,
                                        PARAES_KEY_SPACE const paraes_u32* key, paraes_block iv,
                                        paraes_u64 first, paraes_u32 lanes, const int count,
                                        paraes_u32 flags) {
  (void)job;
  (void)key;
  (void)lanes;
  (void)count;
  (void)flags;
  c->iv = iv;
  c->first = first;
  return PARAES_BLOCKS_PER_THREAD;
}

// Encrypts the thread's counters j to j + PARAES_BATCH - 1.
PARAES_INLINE void encrypt_counters(const paraes_counters* c, const paraes_job* job,
                                    PARAES_KEY_SPACE const paraes_u32* key, paraes_u32 j,
                                    paraes_u32* s, const int count) {
  PARAES_UNROLL
  for (int i = 0; i < PARAES_BATCH; ++i) {
    const paraes_block b = counter_block(c->iv, c->first + 32 * (j + i), count);
    PARAES_UNROLL
    for (int w = 0; w < 4; ++w) s[w * PARAES_BATCH + i] = b.w[w];
  }
  encrypt_batch(job, key, s);
}
#endif
