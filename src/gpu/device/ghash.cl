// GHASH (SP 800-38D section 6.4). A group of N = PARAES_HASH_THREADS threads hashes one message at
// a time, and consecutive messages one after another, so that it seldom changes keys. Block i of n
// has the weight H^(n - i). Thread t takes the blocks whose exponent is t + 1 modulo N: it adds
// them by Horner's rule with the factor H^N, and multiplies the sum by H^(t + 1). With
// PARAES_HASH_TABLES the multiplications by H^N are look-ups in shared memory with secret indices,
// otherwise they take constant time.

PARAES_INLINE gf128 hash_subkey(const paraes_job* job, paraes_u32 k) {
  paraes_block h = zero_block();
#ifdef PARAES_KEYS_SLICED
  paraes_u32 keys[PARAES_SINGLES];
  paraes_u32 w[4 * PARAES_SINGLES];
  PARAES_UNROLL
  for (int b = 0; b < PARAES_SINGLES; ++b) keys[b] = k;
  PARAES_UNROLL
  for (int i = 0; i < 4 * PARAES_SINGLES; ++i) w[i] = 0;
  encrypt_singles(job, keys, w);
  PARAES_UNROLL
  for (int i = 0; i < 4; ++i) h.w[i] = w[i];
#else
  reference_encrypt(job, key_of(job, k, 0), h.w);
#endif
  return gf128_of_block(h);
}

// Hash keys store each power of H as four words, the most significant first.
PARAES_INLINE void put_power(PARAES_GLOBAL paraes_u32* to, gf128 a) {
  to[0] = (paraes_u32)(a.high >> 32);
  to[1] = (paraes_u32)a.high;
  to[2] = (paraes_u32)(a.low >> 32);
  to[3] = (paraes_u32)a.low;
}

PARAES_INLINE gf128 get_power(PARAES_GLOBAL const paraes_u32* from) {
  gf128 a;
  a.high = (paraes_u64)from[0] << 32 | from[1];
  a.low = (paraes_u64)from[2] << 32 | from[3];
  return a;
}

// Blocks in shared memory are aligned to 16 bytes. Accesses to whole blocks have no bank conflicts
// where those to their words would have four.
PARAES_INLINE void share(PARAES_SHARED paraes_u32* to, paraes_block b) {
  uint4 v;
  v.x = b.w[0];
  v.y = b.w[1];
  v.z = b.w[2];
  v.w = b.w[3];
  *(PARAES_SHARED uint4*)to = v;
}

PARAES_INLINE paraes_block shared_block(PARAES_SHARED const paraes_u32* from) {
  const uint4 v = *(PARAES_SHARED const uint4*)from;
  paraes_block b;
  b.w[0] = v.x;
  b.w[1] = v.y;
  b.w[2] = v.z;
  b.w[3] = v.w;
  return b;
}

// Computes the hash keys of keys 0 to count - 1 into scratch, PARAES_HASH_KEY_WORDS each.
PARAES_ENTRY(ghash_prepare, PARAES_HASH_THREADS, 1) {
  const paraes_u32 t = job->thread;
  // If there are enough keys, the threads of a warp-sized group encrypt under different keys at
  // once.
  const paraes_u32 share_of_group = (job->count + job->groups - 1) / job->groups;
  const paraes_u32 chunk = share_of_group < 32 ? share_of_group : 32;
  for (paraes_u32 first = job->group * chunk; first < job->count; first += job->groups * chunk) {
    const paraes_u32 n = job->count - first < chunk ? job->count - first : chunk;
    if (t < n) {
      put_power(job->scratch + (paraes_u64)PARAES_HASH_KEY_WORDS(PARAES_HASH_THREADS) * (first + t),
                hash_subkey(job, first + t));
    }
    PARAES_BARRIER();
    for (paraes_u32 i = 0; i < n; ++i) {
      PARAES_GLOBAL paraes_u32* powers =
          job->scratch + (paraes_u64)PARAES_HASH_KEY_WORDS(PARAES_HASH_THREADS) * (first + i);
      if (t == 0) share(job->shared, block_of_gf128(get_power(powers)));
      PARAES_BARRIER();
      for (paraes_u32 have = 1; have < PARAES_HASH_THREADS; have *= 2) {
        if (t >= have && t < 2 * have) {
          const gf128 a = gf128_of_block(shared_block(job->shared + 4 * (have - 1)));
          const gf128 b = gf128_of_block(shared_block(job->shared + 4 * (t - have)));
          share(job->shared + 4 * t, block_of_gf128(gf128_multiply(a, b)));
        }
        PARAES_BARRIER();
      }
      put_power(powers + 4 * t, gf128_of_block(shared_block(job->shared + 4 * t)));
      PARAES_BARRIER();
    }
  }
}

#ifdef PARAES_HASH_TABLES
// The product with a fixed factor f is the sum of one entry for each of the 32 nibbles of a block:
// table p holds the products of nibble p. Each entry is stored PARAES_HASH_COPIES times in a row,
// so that threads read different banks. The basis, f x^i for i < 128, shares its memory with the
// sums.
#ifndef PARAES_ON_TABLES_BUILT
#define PARAES_ON_TABLES_BUILT(job)  // for tests
#endif
#define PARAES_HASH_TABLE_WORDS (2048 * PARAES_HASH_COPIES)
#define PARAES_SUMS(job) ((job)->shared + PARAES_HASH_TABLE_WORDS)

PARAES_INLINE void build_tables(const paraes_job* job, gf128 factor) {
  PARAES_SHARED paraes_u32* basis = PARAES_SUMS(job);
  const paraes_u32 t = job->thread;
  if (t < 128) {
    for (paraes_u32 n = t; n != 0;) {
      const paraes_u32 step = n < 31 ? n : 31;
      factor = gf128_times_power(factor, step);
      n -= step;
    }
    share(basis + 4 * t, block_of_gf128(factor));
  }
  PARAES_BARRIER();
  for (paraes_u32 entry = t; entry < 512; entry += PARAES_HASH_THREADS) {
    // Nibble p of a block in memory order; its highest bit has the lowest power of x.
    const paraes_u32 p = entry / 16;
    const paraes_u32 power = 8 * (p / 2) + (p % 2 == 0 ? 4 : 0);
    paraes_block sum = zero_block();
    for (paraes_u32 bit = 0; bit < 4; ++bit) {
      if ((entry >> bit & 1) == 0) continue;
      sum = xor_blocks(sum, shared_block(basis + 4 * (power + 3 - bit)));
    }
    for (paraes_u32 step = 0; step < PARAES_HASH_COPIES; ++step) {
      const paraes_u32 copy = PARAES_HASH_COPY_WRITTEN(t, step, PARAES_HASH_COPIES);
      share(job->shared + 4 * PARAES_HASH_UNIT(entry, copy, PARAES_HASH_COPIES), sum);
    }
  }
  PARAES_BARRIER();
  PARAES_ON_TABLES_BUILT(job);
}

PARAES_LARGE paraes_block table_product(const paraes_job* job, paraes_block a) {
  PARAES_SHARED const paraes_u32* table =
      job->shared + 4 * PARAES_HASH_COPY_READ(job->thread, PARAES_HASH_COPIES);
  paraes_block sum = zero_block();
  PARAES_UNROLL
  for (int p = 0; p < 32; ++p) {
    const paraes_u32 nibble = a.w[p / 8] >> 4 * (p % 8) & 15;
    sum = xor_blocks(
        sum, shared_block(table + 4 * PARAES_HASH_UNIT(16 * p + nibble, 0, PARAES_HASH_COPIES)));
  }
  return sum;
}
#else
#define PARAES_SUMS(job) ((job)->shared)
#endif

// Block i of the input of GHASH: the text, padded with zeros to whole blocks, then the lengths.
PARAES_INLINE paraes_block hash_input(PARAES_GLOBAL const paraes_u8* text, paraes_u64 bytes,
                                      paraes_u64 i) {
  const paraes_u64 whole = bytes / 16;
  const paraes_u32 part = (paraes_u32)bytes % 16;
  if (i < whole) return load_block(text + 16 * i);
  if (i == whole && part != 0) return load_part(text + 16 * i, part);
  paraes_block lengths = zero_block();
  lengths.w[2] = paraes_swap_bytes((paraes_u32)(bytes >> 29));
  lengths.w[3] = paraes_swap_bytes((paraes_u32)(bytes << 3));
  return lengths;
}

// The first message of a group. The groups share the messages evenly.
PARAES_INLINE paraes_u32 first_of_group(const paraes_job* job, paraes_u32 group) {
  const paraes_u32 each = job->count / job->groups;
  const paraes_u32 more = job->count - each * job->groups;  // groups that have one more
  return each * group + (group < more ? group : more);
}

// The sum of one block of each thread of the group, for thread 0. `sums` has room for all of them.
PARAES_INLINE paraes_block sum_of_group(PARAES_SHARED paraes_u32* sums, paraes_u32 t,
                                        paraes_block sum) {
  share(sums + 4 * t, sum);
  PARAES_BARRIER();
  for (paraes_u32 apart = PARAES_HASH_THREADS / 2; apart != 0; apart /= 2) {
    if (t < apart) {
      sum = xor_blocks(sum, shared_block(sums + 4 * (t + apart)));
      share(sums + 4 * t, sum);
    }
    PARAES_BARRIER();
  }
  return sum;
}

// `keys` holds the hash keys, scratch the tag masks. With PARAES_HASH_TO_SCRATCH, the hash of
// message m goes to scratch + 4 (tiles + m).
PARAES_ENTRY(ghash, PARAES_HASH_THREADS, PARAES_HASH_GROUPS_PER_UNIT) {
  const paraes_u32 t = job->thread;
#ifdef PARAES_HASH_TABLES
  paraes_u32 table_key = 0;
  int have_tables = 0;
#endif
  // The end is computed again for each message, because no register is left for it.
  for (paraes_u32 m = first_of_group(job, job->group);
       m < first_of_group(job, (paraes_u32)paraes_anew(job->group) + 1); ++m) {
    PARAES_GLOBAL const paraes_message* message = job->messages + m;
    const paraes_u64 bytes = message->bytes;
    const int partial = (message->flags & PARAES_HASH_PARTIAL) != 0;
    PARAES_GLOBAL const paraes_u8* text =
        (message->flags & PARAES_HASH_INPUT) != 0 ? job->in + message->in : job->out + message->out;
    PARAES_GLOBAL const paraes_u32* powers =
        job->keys + (paraes_u64)PARAES_HASH_KEY_WORDS(PARAES_HASH_THREADS) * message->key;
    const gf128 factor = get_power(powers + 4 * (PARAES_HASH_THREADS - 1));
    const paraes_u64 n = bytes / 16 + (bytes % 16 != 0 ? 1 : 0) + (partial ? 0 : 1);
#ifdef PARAES_HASH_TABLES
    // Short messages do not use the tables.
    if (n > PARAES_HASH_THREADS && (!have_tables || table_key != message->key)) {
      build_tables(job, factor);
      table_key = message->key;
      have_tables = 1;
    }
#endif
    paraes_block sum = zero_block();
    if (t < n) {
      paraes_u64 i = (n - 1 - t) % PARAES_HASH_THREADS;
      sum = hash_input(text, bytes, i);
      for (i += PARAES_HASH_THREADS; i < n; i += PARAES_HASH_THREADS) {
        const paraes_block next = hash_input(text, bytes, i);
#ifdef PARAES_HASH_TABLES
        sum = xor_blocks(next, table_product(job, sum));
#else
        sum = xor_blocks(next, block_of_gf128(gf128_multiply(gf128_of_block(sum), factor)));
#endif
      }
      sum = block_of_gf128(gf128_multiply(gf128_of_block(sum), get_power(powers + 4 * t)));
    }
    sum = sum_of_group(PARAES_SUMS(job), t, sum);
    if (t == 0) {
      if (!partial) {
        sum = xor_blocks(
            sum, load_block((PARAES_GLOBAL const paraes_u8*)(job->scratch + 4 * (paraes_u64)m)));
      }
      // Tags are only aligned to 4 bytes.
      PARAES_GLOBAL paraes_u32* tag = (message->flags & PARAES_HASH_TO_SCRATCH) != 0
                                          ? job->scratch + 4 * (job->tiles + m)
                                          : (PARAES_GLOBAL paraes_u32*)(job->out + message->tag);
      PARAES_UNROLL
      for (int w = 0; w < 4; ++w) tag[w] = sum.w[w];
    }
  }
}
