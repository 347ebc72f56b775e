// The end of GCM messages whose texts were hashed in ranges (PARAES_HASH_TO_SCRATCH): joins the
// hashes of the ranges, and writes or checks the tag (SP 800-38D sections 7.1 and 7.2).

// a^n. The exponent is not secret.
PARAES_LARGE gf128 gf128_power(gf128 a, paraes_u64 n) {
  gf128 result;
  result.high = (paraes_u64)1 << 63;  // one
  result.low = 0;
  for (; n != 0; n >>= 1) {
    if ((n & 1) != 0) result = gf128_multiply(result, a);
    if (n > 1) a = gf128_multiply(a, a);
  }
  return result;
}

PARAES_INLINE PARAES_GLOBAL const paraes_gcm_end* end_of_message(const paraes_job* job,
                                                                 paraes_u32 m) {
  return (PARAES_GLOBAL const paraes_gcm_end*)(job->scratch +
                                               4 * (job->count + (paraes_u64)job->tiles)) +
         m;
}

PARAES_INLINE gf128 hash_of_key(const paraes_job* job, paraes_u32 key) {
  return get_power(job->keys + (paraes_u64)PARAES_HASH_KEY_WORDS(PARAES_HASH_THREADS) * key);
}

// The hash of range i of the launch.
PARAES_INLINE PARAES_GLOBAL paraes_u8* hash_of_range(const paraes_job* job, paraes_u32 i) {
  return (PARAES_GLOBAL paraes_u8*)(job->scratch + 4 * ((paraes_u64)job->count + i));
}

// Writes or checks the tag of message m. The mask of the tag becomes the verdict: 1 if the tag is
// right.
PARAES_INLINE void finish_message(const paraes_job* job, paraes_u32 m) {
  PARAES_GLOBAL const paraes_gcm_end* end = end_of_message(job, m);
  paraes_block text = end->ranges == 0 ? zero_block() : load_block(hash_of_range(job, end->first));
  PARAES_GLOBAL paraes_u32* mask = job->scratch + 4 * (paraes_u64)m;
  text.w[2] ^= paraes_swap_bytes((paraes_u32)(end->bytes >> 29));
  text.w[3] ^= paraes_swap_bytes((paraes_u32)(end->bytes << 3));
  paraes_block tag =
      block_of_gf128(gf128_multiply(gf128_of_block(text), hash_of_key(job, end->key)));
  paraes_u32 differ = 0;
  PARAES_UNROLL
  for (int w = 0; w < 4; ++w) tag.w[w] ^= mask[w] ^ end->addend[w];
  if (end->opens != 0) {
    const paraes_block given = load_tag(job->in + end->tag);
    PARAES_UNROLL
    for (int w = 0; w < 4; ++w) differ |= tag.w[w] ^ given.w[w];
  } else {
    store_tag(job->out + end->tag, tag);
  }
  mask[0] = differ == 0 ? 1u : 0u;
  mask[1] = mask[2] = mask[3] = 0;
}

// Replaces the hash of the first range of each of the `count` messages by that of its whole text.
// scratch, `tiles` and `keys` are as for gcm_finish. With G = H^range_blocks, range i of n has the
// weight G^(n - 1 - i); thread t takes the ranges whose exponent is t modulo the number of threads.
PARAES_ENTRY(ghash_join, PARAES_HASH_THREADS, 1) {
  const paraes_u32 t = job->thread;
  const paraes_u32 last = first_of_group(job, job->group + 1);
  for (paraes_u32 m = first_of_group(job, job->group); m < last; ++m) {
    PARAES_GLOBAL const paraes_gcm_end* end = end_of_message(job, m);
    const paraes_u32 n = end->ranges;
    paraes_block sum = zero_block();
    if (n > 1 && t < n) {
      const gf128 step = gf128_power(hash_of_key(job, end->key), end->range_blocks);
      const gf128 factor = gf128_power(step, PARAES_HASH_THREADS);
      paraes_u32 i = (n - 1 - t) % PARAES_HASH_THREADS;
      sum = load_block(hash_of_range(job, end->first + i));
      for (i += PARAES_HASH_THREADS; i < n; i += PARAES_HASH_THREADS) {
        sum = xor_blocks(load_block(hash_of_range(job, end->first + i)),
                         block_of_gf128(gf128_multiply(gf128_of_block(sum), factor)));
      }
      sum = block_of_gf128(gf128_multiply(gf128_of_block(sum), gf128_power(step, t)));
    }
    // Messages of one range do this as well, because all threads must reach the barriers.
    sum = sum_of_lanes(job->shared, t, PARAES_HASH_THREADS, sum);
    if (n > 1 && t == 0) store_block(hash_of_range(job, end->first), sum);
  }
}

// Withholds a message that is not authentic: fills its output with zeros, and leaves nothing for
// gcm_ctr to decrypt.
PARAES_INLINE void withhold_message(const paraes_job* job, paraes_u32 m) {
  PARAES_GLOBAL const paraes_gcm_end* end = end_of_message(job, m);
  PARAES_GLOBAL paraes_u8* text = job->out + end->text;
  for (paraes_u64 i = job->thread; i < end->bytes / 16; i += PARAES_HASH_THREADS) {
    store_text(text + 16 * i, zero_block());
  }
  if (job->thread < (paraes_u32)end->bytes % 16) {
    text[end->bytes / 16 * 16 + job->thread] = 0;
  }
  PARAES_GLOBAL paraes_message* ranges = job->messages + end->first;
  for (paraes_u32 i = job->thread; i < end->ranges; i += PARAES_HASH_THREADS) ranges[i].bytes = 0;
}

// Finishes `count` messages. scratch holds their tag masks (gcm_masks), the hashes of the `tiles`
// ranges in `messages` (ghash), joined if a message has several (ghash_join), and their
// paraes_gcm_end. `keys` holds the hash keys. Opening comes before gcm_ctr, so that nothing is
// decrypted unless it is authentic.
PARAES_ENTRY(gcm_finish, PARAES_HASH_THREADS, 1) {
  const paraes_u32 t = job->thread;
  const paraes_u32 last = first_of_group(job, job->group + 1);
  for (paraes_u32 first = first_of_group(job, job->group); first < last;
       first += PARAES_HASH_THREADS) {
    const paraes_u32 n = last - first < PARAES_HASH_THREADS ? last - first : PARAES_HASH_THREADS;
    if (t < n) finish_message(job, first + t);
    PARAES_BARRIER();
    for (paraes_u32 m = first; m < first + n; ++m) {
      if (job->scratch[4 * (paraes_u64)m] == 0) withhold_message(job, m);
    }
  }
}
