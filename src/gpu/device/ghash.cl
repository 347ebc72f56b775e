// GHASH (SP 800-38D section 6.4). `lanes` threads of a group hash a message: all N =
// PARAES_HASH_THREADS of them, or 8, 16 or 32, and the others hash other messages under the same
// key. Block i of n has the weight H^(n - i). Lane t takes the blocks whose exponent is t + 1
// modulo `lanes`: it adds them by Horner's rule with the factor H^lanes, and multiplies the sum by
// H^(t + 1). With PARAES_HASH_TABLES the multiplications by H^lanes are look-ups in shared memory
// with secret indices, otherwise they take constant time, for few lanes as in ghash_sums.cl. With
// PARAES_HASH_TENSOR there is a second entry, for 16 or 32 lanes, that replaces all but the last
// multiplication by binary matrix products, in constant time: ghash_tensor.cl.

#ifndef PARAES_HASH_GROUPS_PER_UNIT
#if defined(PARAES_HASH_SUMS)
#define PARAES_HASH_GROUPS_PER_UNIT PARAES_HASH_GROUPS_OF_SUMS
#else
#define PARAES_HASH_GROUPS_PER_UNIT PARAES_HASH_GROUPS
#endif
#endif

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
  reference_cipher(job, key_of(job, k, 0), h.w, 0);
#endif
  return gf128_of_block(h);
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
// The product with a fixed factor f is the sum of one entry for each byte of a block: entry b of
// table 0 is b f, and that of table 1 b f x^8. The entries of bytes 2 j and 2 j + 1 are moved by 2
// j bytes, and what then lies beyond x^127 is reduced once for all of them. Words of entries, and
// of the sums here, have their bytes swapped: their highest bit has the lowest power of x. Each
// entry is stored PARAES_HASH_COPIES times, so that threads read different banks. The basis, f x^i
// for i < 16, shares its memory with the sums.
#ifndef PARAES_ON_TABLES_BUILT
#define PARAES_ON_TABLES_BUILT(job)  // for tests
#endif
#define PARAES_HASH_TABLE_WORDS (2048 * PARAES_HASH_COPIES)
#define PARAES_SUMS(job) ((job)->shared + PARAES_HASH_TABLE_WORDS)

PARAES_INLINE paraes_block swapped(paraes_block a) {
  PARAES_UNROLL
  for (int w = 0; w < 4; ++w) a.w[w] = paraes_swap_bytes(a.w[w]);
  return a;
}

PARAES_INLINE void build_tables(const paraes_job* job, gf128 factor) {
  PARAES_SHARED paraes_u32* basis = PARAES_SUMS(job);
  const paraes_u32 t = job->thread;
  if (t < 16) share(basis + 4 * t, swapped(block_of_gf128(gf128_times_power(factor, t))));
  PARAES_BARRIER();
  for (paraes_u32 entry = t; entry < 512; entry += PARAES_HASH_THREADS) {
    // Bit 7 of a byte has the lowest power of x.
    paraes_block sum = zero_block();
    for (paraes_u32 bit = 0; bit < 8; ++bit) {
      if ((entry / 2 >> bit & 1) == 0) continue;
      sum = xor_blocks(sum, shared_block(basis + 4 * (entry % 2 * 8 + 7 - bit)));
    }
    for (paraes_u32 step = 0; step < PARAES_HASH_COPIES; ++step) {
      const paraes_u32 copy = PARAES_HASH_COPY_WRITTEN(t, step, PARAES_HASH_COPIES);
      share(job->shared + 4 * PARAES_HASH_UNIT(entry, copy, PARAES_HASH_COPIES), sum);
    }
  }
  PARAES_BARRIER();
  PARAES_ON_TABLES_BUILT(job);
}

// The entry of byte i of a word, counted from the lowest.
PARAES_INLINE paraes_block byte_product(const paraes_job* job, paraes_u32 word, const int i,
                                        const int table) {
  const paraes_u32 copy = PARAES_HASH_COPY_READ(job->thread, PARAES_HASH_COPIES);
#if PARAES_HASH_COPIES == 8
  // 256 bytes for both entries of a byte: one permutation computes the address.
  const paraes_u32 at = paraes_permute(word, 16 * copy, 0x5504u | (paraes_u32)i << 4);
  return shared_block(
      (PARAES_SHARED const paraes_u32*)((PARAES_SHARED const paraes_u8*)job->shared + at +
                                        128 * table));
#else
  const paraes_u32 entry = 2 * (word >> 8 * i & 255) + (paraes_u32)table;
  return shared_block(job->shared + 4 * PARAES_HASH_UNIT(entry, copy, PARAES_HASH_COPIES));
#endif
}

// The word that begins 16 bits before the second of two words.
PARAES_INLINE paraes_u32 half_before(paraes_u32 first, paraes_u32 second) {
  return paraes_permute(second, first, 0x5432u);
}

// A word of h (1 + x + x^2 + x^7), where `before` is the word of h before it.
PARAES_INLINE paraes_u32 folded(paraes_u32 before, paraes_u32 h) {
  return paraes_xor3(h, paraes_funnel_left(before, h, 31),
                     paraes_funnel_left(before, h, 30) ^ paraes_funnel_left(before, h, 25));
}

PARAES_LARGE paraes_block table_product(const paraes_job* job, paraes_block a) {
  paraes_u32 even[8], odd[8];  // of bytes 4 w and 4 w + 1, and of bytes 4 w + 2 and 4 w + 3
  PARAES_UNROLL
  for (int w = 0; w < 8; ++w) even[w] = odd[w] = 0;
  PARAES_UNROLL
  for (int w = 0; w < 4; ++w) {
    const paraes_block first = byte_product(job, a.w[w], 3, 0);
    const paraes_block second = byte_product(job, a.w[w], 2, 1);
    const paraes_block third = byte_product(job, a.w[w], 1, 0);
    const paraes_block fourth = byte_product(job, a.w[w], 0, 1);
    PARAES_UNROLL
    for (int k = 0; k < 4; ++k) {
      even[w + k] = paraes_xor3(even[w + k], first.w[k], second.w[k]);
      odd[w + k] = paraes_xor3(odd[w + k], third.w[k], fourth.w[k]);
    }
  }
  paraes_u32 v[8];
  v[0] = even[0] ^ half_before(0, odd[0]);
  PARAES_UNROLL
  for (int w = 1; w < 8; ++w) v[w] = even[w] ^ half_before(odd[w - 1], odd[w]);
  // x^128 = x^7 + x^2 + x + 1. What the last word leaves over has the powers from x^256 on.
  v[4] ^= paraes_xor3(v[7] << 31, v[7] << 30, v[7] << 25);
  paraes_block r;
  r.w[0] = v[0] ^ folded(0, v[4]);
  PARAES_UNROLL
  for (int w = 1; w < 4; ++w) r.w[w] = v[w] ^ folded(v[w + 3], v[w + 4]);
  return r;
}
#else
#define PARAES_SUMS(job) ((job)->shared)
#endif

// The first message of a group. The groups share the messages evenly.
PARAES_INLINE paraes_u32 first_of_group(const paraes_job* job, paraes_u32 group) {
  const paraes_u32 each = job->count / job->groups;
  const paraes_u32 more = job->count - each * job->groups;  // groups that have one more
  return each * group + (group < more ? group : more);
}

// The sum of one block of each of `lanes` threads, for the first of them. `sums` has room for those
// of all threads of the group, which must call this together.
PARAES_INLINE paraes_block sum_of_lanes(PARAES_SHARED paraes_u32* sums, paraes_u32 t,
                                        paraes_u32 lanes, paraes_block sum) {
  share(sums + 4 * t, sum);
  PARAES_BARRIER();
  for (paraes_u32 apart = lanes / 2; apart != 0; apart /= 2) {
    if ((t & (lanes - 1)) < apart) {
      sum = xor_blocks(sum, shared_block(sums + 4 * (t + apart)));
      share(sums + 4 * t, sum);
    }
    PARAES_BARRIER();
  }
  return sum;
}

// The messages from m on that a group hashes at once: at most `most`, all under one key.
PARAES_INLINE paraes_u32 messages_at_once(const paraes_job* job, paraes_u32 m, paraes_u32 last,
                                          paraes_u32 most) {
  const paraes_u32 key = job->messages[m].key;
  paraes_u32 n = 1;
  int same = 1;
  for (paraes_u32 base = 1; same && base < most; base += 8) {
    // All keys are loaded before the first of them has arrived, and always some key, so that no
    // address depends on a condition.
    PARAES_UNROLL
    for (paraes_u32 i = base; i < base + 8; ++i) {
      const int exists = i < most && m + i < last;
      same &= exists & (job->messages[exists ? m + i : m].key == key);
      n += (paraes_u32)same;
    }
  }
  return n;
}

PARAES_INLINE int some_exceed(const paraes_job* job, paraes_u32 m, paraes_u32 n,
                              paraes_u64 blocks) {
  int found = 0;
  for (paraes_u32 i = 0; i < n; ++i) found |= hash_blocks(job->messages + m + i) > blocks;
  return found;
}

// The share of one lane: its blocks by Horner's rule, times its own power.
PARAES_INLINE paraes_block hash_of_lane(const paraes_job* job, PARAES_GLOBAL const paraes_u8* text,
                                        paraes_u64 bytes, paraes_u64 n,
                                        PARAES_GLOBAL const paraes_u32* powers, paraes_u32 lane,
                                        paraes_u32 lanes) {
  if (lane >= n) return zero_block();
  paraes_u64 i = (n - 1 - lane) & (lanes - 1);
  paraes_block sum = hash_input(text, bytes, i);
#ifdef PARAES_HASH_TABLES
  sum = swapped(sum);
  // The next block is on its way meanwhile. Only the last can be another than a whole one.
  for (i += lanes; i < bytes / 16; i += lanes) {
    const paraes_block next = load_text(text + 16 * i, i + 1 == bytes / 16);
    sum = xor_blocks(swapped(next), table_product(job, sum));
  }
  if (i < n) sum = xor_blocks(swapped(hash_input(text, bytes, i)), table_product(job, sum));
  sum = swapped(sum);
#else
  (void)job;
  const gf128 factor = get_power(powers + 4 * (lanes - 1));
  for (i += lanes; i < n; i += lanes) {
    const paraes_block next = hash_input(text, bytes, i);
    sum = xor_blocks(next, block_of_gf128(gf128_multiply(gf128_of_block(sum), factor)));
  }
#endif
  return block_of_gf128(gf128_multiply(gf128_of_block(sum), get_power(powers + 4 * lane)));
}

// The key whose tables, matrices or factors are in shared memory.
typedef struct {
  int any;
  paraes_u32 key;
} paraes_built_for;

PARAES_INLINE int is_built_for(const paraes_built_for* built, paraes_u32 key) {
  return built->any && built->key == key;
}

PARAES_INLINE void now_built_for(paraes_built_for* built, paraes_u32 key) {
  built->any = 1;
  built->key = key;
}

PARAES_INLINE PARAES_GLOBAL const paraes_u32* powers_of(const paraes_job* job,
                                                        PARAES_GLOBAL const paraes_message* m) {
  return job->keys + (paraes_u64)PARAES_HASH_KEY_WORDS(PARAES_HASH_THREADS) * m->key;
}

// The functions below return this lane's share of the hash of message m: `part` says which of the
// `at_once` messages from `first` on that is, for lanes that work. All threads of the group call
// them together.
#ifdef PARAES_HASH_TENSOR
PARAES_INLINE paraes_block share_by_tensors(const paraes_job* job, paraes_built_for* built,
                                            paraes_u32 first, paraes_u32 at_once, paraes_u32 m,
                                            int works) {
  const paraes_u32 t = job->thread;
  const paraes_u32 lanes = job->tile_blocks;
  const paraes_u32 lane = t & (lanes - 1);
  PARAES_GLOBAL const paraes_message* message = job->messages + m;
  if (!is_built_for(built, message->key)) {
    PARAES_GLOBAL const paraes_u32* powers = powers_of(job, message);
    build_matrices(job, get_power(powers + 4 * 31), get_power(powers + 4 * 15));
    now_built_for(built, message->key);
  }
  // A warp hashes the messages of its threads one after the other.
  PARAES_SHARED paraes_u32* sums = job->shared + 4 * (t & ~31u);
  for (paraes_u32 i = 0; i < 32 / lanes; ++i) {
    const paraes_u32 one = (t & ~31u) / lanes + i;
    if (one < at_once) tensor_hash(job, first + one, t % 32, sums + 64 * i);
  }
  PARAES_BARRIER();
  paraes_block sum = zero_block();
  // Where the message and its powers are is computed again, because no register is left for it.
  PARAES_GLOBAL const paraes_message* again = job->messages + (paraes_u32)paraes_anew(m);
  // An empty text without lengths has no blocks.
  if (works && lane < 16 && hash_blocks(again) != 0) {
    PARAES_GLOBAL const paraes_u32* own = powers_of(job, again);
    sum = shared_block(sums + 4 * (t % 32));
    sum = block_of_gf128(gf128_multiply(gf128_of_block(sum), get_power(own + 4 * (15 - lane))));
  }
  PARAES_BARRIER();
  return sum;
}
#endif

PARAES_INLINE paraes_block share_by_integers(const paraes_job* job, paraes_built_for* built,
                                             paraes_u32 first, paraes_u32 at_once, paraes_u32 m,
                                             int works) {
  const paraes_u32 lanes = job->tile_blocks;
  const paraes_u32 lane = job->thread & (lanes - 1);
  PARAES_GLOBAL const paraes_message* message = job->messages + m;
  PARAES_GLOBAL const paraes_u32* powers = powers_of(job, message);
  const paraes_u64 bytes = message->bytes;
  PARAES_GLOBAL const paraes_u8* text = hashed_text(job, message);
#if defined(PARAES_HASH_TABLES)
  // Short messages do not use the tables.
  if (!is_built_for(built, message->key) && some_exceed(job, first, at_once, lanes)) {
    build_tables(job, get_power(powers + 4 * (lanes - 1)));
    now_built_for(built, message->key);
  }
#elif !defined(PARAES_HASH_SUMS)
  (void)built;
  (void)first;
  (void)at_once;
#endif
  paraes_block sum = zero_block();
#if defined(PARAES_HASH_SUMS)
  if (lanes * PARAES_HASH_TERMS <= PARAES_HASH_THREADS) {  // else a power is missing
    if (!is_built_for(built, message->key) && some_exceed(job, first, at_once, lanes)) {
      build_factors(job, powers, lanes);
      now_built_for(built, message->key);
    }
    if (works) {
      const gf128 own = hash_by_sums(job, text, bytes, hash_blocks(message), lane, lanes);
      sum = block_of_gf128(gf128_multiply(own, get_power(powers + 4 * lane)));
    }
    return sum;
  }
#endif
  if (works) sum = hash_of_lane(job, text, bytes, hash_blocks(message), powers, lane, lanes);
  return sum;
}

// Writes the tag of message m: its hash `sum` and its mask.
PARAES_INLINE void put_tag(const paraes_job* job, paraes_u32 m, paraes_block sum) {
  PARAES_GLOBAL const paraes_message* message = job->messages + m;
  if ((message->flags & PARAES_HASH_PARTIAL) == 0) {
    sum = xor_blocks(
        sum, load_block((PARAES_GLOBAL const paraes_u8*)(job->scratch + 4 * (paraes_u64)m)));
  }
  // Tags are only aligned to 4 bytes.
  const int to_scratch = (message->flags & PARAES_HASH_TO_SCRATCH) != 0;
  const paraes_u64 tag_at = message->tag;
  PARAES_GLOBAL paraes_u32* tag =
      (PARAES_GLOBAL paraes_u32*)((to_scratch ? (PARAES_GLOBAL paraes_u8*)job->scratch : job->out) +
                                  (to_scratch ? 16 * (job->tiles + m) : tag_at));
  PARAES_UNROLL
  for (int w = 0; w < 4; ++w) tag[w] = sum.w[w];
}

// `keys` holds the hash keys, scratch the tag masks, and tile_blocks is the number of lanes. With
// PARAES_HASH_TO_SCRATCH, the hash of message m goes to scratch + 4 (tiles + m).
PARAES_INLINE void hash_messages(const paraes_job* job, const int tensors) {
  const paraes_u32 t = job->thread;
  const paraes_u32 lanes = job->tile_blocks;
  const paraes_u32 part = t / lanes;  // which of the messages that it hashes at once
  paraes_built_for built = {0, 0};
  paraes_u32 at_once;
  // The end is computed again for each message, because no register is left for it.
  for (paraes_u32 first = first_of_group(job, job->group);
       first < first_of_group(job, (paraes_u32)paraes_anew(job->group) + 1); first += at_once) {
    at_once = messages_at_once(job, first, first_of_group(job, job->group + 1),
                               PARAES_HASH_THREADS / lanes);
    const int works = part < at_once;
    const paraes_u32 m = works ? first + part : first;
    paraes_block sum;
#ifdef PARAES_HASH_TENSOR
    if (tensors) {
      sum = share_by_tensors(job, &built, first, at_once, m, works);
    } else
#endif
    {
      sum = share_by_integers(job, &built, first, at_once, m, works);
    }
    sum = sum_of_lanes(tensors ? job->shared : PARAES_SUMS(job), t, lanes, sum);
    if (works && (t & (lanes - 1)) == 0) put_tag(job, m, sum);
  }
}

PARAES_ENTRY(ghash, PARAES_HASH_THREADS, PARAES_HASH_GROUPS_PER_UNIT) { hash_messages(job, 0); }

#ifdef PARAES_HASH_TENSOR
// Hashes by tensor cores, with 16 or 32 lanes.
PARAES_ENTRY(ghash_tensor, PARAES_HASH_THREADS, PARAES_HASH_GROUPS_OF_TENSORS) {
  hash_messages(job, 1);
}
#endif
