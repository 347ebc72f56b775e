// The modes, for every kernel. A kernel defines begin_tiles, encrypt_batch and decrypt_batch;
// either the kernel or counters.cl defines begin_counters and encrypt_counters. A batch is
// PARAES_BATCH blocks of one thread; word w of block i is s[w * PARAES_BATCH + i].

#define PARAES_MODE_ECB_ENCRYPT 0
#define PARAES_MODE_ECB_DECRYPT 1
#define PARAES_MODE_CBC_DECRYPT 2
#define PARAES_MODE_XTS_ENCRYPT 3
#define PARAES_MODE_XTS_DECRYPT 4
#define PARAES_MODE_CTR 5
#define PARAES_MODE_GCM 6
#define PARAES_MODE_UNIT_TWEAKS 7

// How many blocks a thread loads before it stores the first of them. `out` may be `in`, so the
// compiler cannot move a load before a store.
#if PARAES_BATCH < 8
#define PARAES_CHUNK PARAES_BATCH
#else
#define PARAES_CHUNK 8
#endif

// The message that a tile belongs to: the last one whose first_tile is at most `tile`. A search
// waits for memory at each step. So the message is guessed first, and rightly if all have as many
// tiles, or the last one a few less, and its fields are loaded at the same time.
typedef struct {
  paraes_u32 number;
  paraes_message fields;
} tile_message;

PARAES_INLINE tile_message message_of_tile(const paraes_job* job, paraes_u64 tile) {
  const paraes_u32 count = job->count;
  tile_message m;
  m.number = 0;
  paraes_u64 next = 0;  // where the guessed message ends; 0 if nothing is guessed
  if (count > 1 && tile < job->tiles && job->tiles <= 0xffffffffu - count) {
    const paraes_u32 each = ((paraes_u32)job->tiles + count - 1) / count;
    m.number = (paraes_u32)tile / each;
    next = m.number + 1 < count ? job->messages[m.number + 1].first_tile : job->tiles;
  }
  m.fields = job->messages[m.number];
  if (count <= 1 || (m.fields.first_tile <= tile && tile < next)) return m;
  paraes_u32 low = 0;
  paraes_u32 high = count;
  while (high - low > 1) {
    const paraes_u32 middle = low + (high - low) / 2;
    if (job->messages[middle].first_tile <= tile) {
      low = middle;
    } else {
      high = middle;
    }
  }
  m.number = low;
  m.fields = job->messages[low];
  return m;
}

// The data units of a message. The last one may be shorter than the others.
PARAES_INLINE paraes_u64 units_of(const paraes_job* job, paraes_u64 bytes) {
  return (bytes / 16 + job->unit_blocks - 1) / job->unit_blocks;
}

// fetch and put load and store block i of a thread. Its block 0 is block `block` of the text, and
// each next one is `lanes` blocks later. Block i exists if lanes i < left. The text has `blocks`
// blocks.
#ifdef PARAES_STATE_SHARED
// All threads of the group must call these, with i = 0, because of the barriers. Each warp-sized
// group copies the words of its 32 blocks in memory order between memory and `row`, its states in
// shared memory, so that its threads access consecutive words. In lane 0 `block` may be -1.
PARAES_INLINE paraes_block fetch(const paraes_job* job, PARAES_GLOBAL const paraes_u8* text,
                                 paraes_u64 block, paraes_u32 lanes, paraes_u32 i, paraes_u32 left,
                                 paraes_u64 blocks) {
  const paraes_u32 lane = job->thread % 32;
  PARAES_SHARED paraes_u32* row = job->shared + 4 * (job->thread - lane);
  (void)lanes;
  (void)i;
  (void)left;
  PARAES_BARRIER();
  for (paraes_u32 n = lane; n < 128; n += 32) {
    const paraes_u64 from = block - lane + n / 4;
    row[n] = from < blocks
                 ? load_text_word(text + 16 * from + n % 4 * 4, from + 1 == blocks && n % 4 == 3)
                 : 0;
  }
  PARAES_BARRIER();
  paraes_block b;
  PARAES_UNROLL
  for (int w = 0; w < 4; ++w) b.w[w] = row[4 * lane + w];
  return b;
}

PARAES_INLINE void put(const paraes_job* job, PARAES_GLOBAL paraes_u8* text, paraes_u64 block,
                       paraes_u32 lanes, paraes_u32 i, paraes_u32 left, paraes_u64 blocks,
                       paraes_block b) {
  const paraes_u32 lane = job->thread % 32;
  PARAES_SHARED paraes_u32* row = job->shared + 4 * (job->thread - lane);
  (void)lanes;
  (void)i;
  (void)left;
  PARAES_UNROLL
  for (int w = 0; w < 4; ++w) row[4 * lane + w] = b.w[w];
  PARAES_BARRIER();
  for (paraes_u32 n = lane; n < 128; n += 32) {
    const paraes_u64 to = block - lane + n / 4;
    if (to < blocks) store_text_word(text + 16 * to + n % 4 * 4, row[n]);
  }
  PARAES_BARRIER();
}
#else
PARAES_INLINE paraes_block fetch(const paraes_job* job, PARAES_GLOBAL const paraes_u8* text,
                                 paraes_u64 block, paraes_u32 lanes, paraes_u32 i, paraes_u32 left,
                                 paraes_u64 blocks) {
  (void)job;
  return lanes * i < left ? load_text(text + 16 * block + 16 * lanes * i,
                                      (paraes_u32)(blocks - 1 - block) == lanes * i)
                          : zero_block();
}

PARAES_INLINE void put(const paraes_job* job, PARAES_GLOBAL paraes_u8* text, paraes_u64 block,
                       paraes_u32 lanes, paraes_u32 i, paraes_u32 left, paraes_u64 blocks,
                       paraes_block b) {
  (void)job;
  (void)blocks;
  if (lanes * i < left) store_text(text + 16 * block + 16 * lanes * i, b);
}
#endif

// Loads `count` of the thread's blocks from block i on, or, if `skips_first`, those after it, and
// zeros for the first.
#if PARAES_ANY_ADDRESS && !defined(PARAES_STATE_SHARED)
// Like load_text(), but in three steps for all blocks: a branch between two loads would make the
// second wait for the first.
PARAES_INLINE void fetch_chunk(const paraes_job* job, PARAES_GLOBAL const paraes_u8* text,
                               paraes_u64 block, paraes_u32 lanes, paraes_u32 i, paraes_u32 left,
                               paraes_u64 blocks, int skips_first, paraes_block* to,
                               const int count) {
  const paraes_u32 n = bytes_into_word(text);
  PARAES_GLOBAL const paraes_u8* from = text + 16 * block + 16 * lanes * i - n;
  const paraes_u32 last = (paraes_u32)(blocks - 1 - block) - lanes * i;
  paraes_u32 high[PARAES_CHUNK];
  (void)job;
  PARAES_UNROLL
  for (int k = 0; k < count; ++k) {
    const paraes_u32 at = lanes * k;
    PARAES_GLOBAL const paraes_u32* words = (PARAES_GLOBAL const paraes_u32*)(from + 16 * at);
    to[k] = zero_block();
    high[k] = 0;
    if (lanes * i + at < left && !(k == 0 && skips_first)) {
      PARAES_UNROLL
      for (int w = 0; w < 4; ++w) to[k].w[w] = words[w];
      high[k] = words[n == 0 || at == last ? 3 : 4];
    }
  }
  if (last < lanes * count) {  // the last block of the text is among them
    PARAES_UNROLL
    for (int k = 0; k < count; ++k) {
      if (lanes * k == last) high[k] = load_bytes(from + 16 * lanes * k + 16, n);
    }
  }
  PARAES_UNROLL
  for (int k = 0; k < count; ++k) {
    PARAES_UNROLL
    for (int w = 0; w < 4; ++w) {
      to[k].w[w] = word_within(to[k].w[w], w < 3 ? to[k].w[w + 1] : high[k], n);
    }
  }
}
#else
PARAES_INLINE void fetch_chunk(const paraes_job* job, PARAES_GLOBAL const paraes_u8* text,
                               paraes_u64 block, paraes_u32 lanes, paraes_u32 i, paraes_u32 left,
                               paraes_u64 blocks, int skips_first, paraes_block* to,
                               const int count) {
  PARAES_UNROLL
  for (int k = 0; k < count; ++k) {
    to[k] = fetch(job, text, block, lanes, i + k, k == 0 && skips_first ? 0 : left, blocks);
  }
}
#endif

PARAES_INLINE paraes_block batch_block(const paraes_u32* s, int i) {
  paraes_block b;
  PARAES_UNROLL
  for (int w = 0; w < 4; ++w) b.w[w] = s[w * PARAES_BATCH + i];
  return b;
}

// How many blocks of a tile a thread processes at most.
#if PARAES_BATCH == PARAES_BLOCKS_PER_THREAD
#define PARAES_BLOCKS_EACH(job) PARAES_BLOCKS_PER_THREAD
#else
#define PARAES_BLOCKS_EACH(job) ((job)->tile_blocks / 32)
#endif

// How many threads work on a tile. Blocks of a thread are this far apart: a constant, if tiles are
// not narrow, which saves the computation of addresses.
#define PARAES_LANES(job, narrow) \
  ((narrow) ? (job)->tile_blocks / PARAES_BLOCKS_PER_THREAD : (paraes_u32)32)

// The part of a tile that one thread processes.
typedef struct {
  PARAES_GLOBAL const paraes_u8* in;
  PARAES_GLOBAL paraes_u8* out;
  paraes_u64 whole;   // blocks of the message
  paraes_u32 part;    // bytes of a partial block after them, in modes that have one
  paraes_u64 blocks;  // the message's, or one for each unit of it
  paraes_u64 first;   // the thread's first block
  paraes_u32 left;    // blocks from `first` on, at most the `most` of a tile
} tile_view;

PARAES_INLINE tile_view view_of(const paraes_job* job, paraes_u64 in, paraes_u64 out,
                                paraes_u64 bytes, paraes_u64 first, paraes_u32 most,
                                const int mode) {
  const int parts = mode == PARAES_MODE_CTR || mode == PARAES_MODE_GCM;
  tile_view v;
  v.in = job->in + in;
  v.out = job->out + out;
  v.whole = bytes / 16;
  v.part = parts ? (paraes_u32)bytes % 16 : 0;
  v.blocks = mode == PARAES_MODE_UNIT_TWEAKS ? units_of(job, bytes) : v.whole;
  v.first = first;
  v.left = first >= v.blocks ? 0 : v.blocks - first < most ? (paraes_u32)(v.blocks - first) : most;
  return v;
}

// Stores the partial block of the message, if it is one of the thread's blocks j to `to`, of which
// the state `s` has the key stream.
PARAES_INLINE void put_part(const tile_view* v, const paraes_u32* s, paraes_u32 lanes, paraes_u32 j,
                            paraes_u32 to) {
  // Masks, because the compiler would turn branches into a run-time index into the state.
  paraes_u32 mine = 0;
  paraes_block stream = zero_block();
  PARAES_UNROLL
  for (int i = 0; i < PARAES_BATCH; ++i) {
    const paraes_u32 mask = 0u - (paraes_u32)(lanes * (j + i) == v->left && j + i < to);
    mine |= mask;
    PARAES_UNROLL
    for (int w = 0; w < 4; ++w) stream.w[w] |= s[w * PARAES_BATCH + i] & mask;
  }
  const paraes_u64 place = 16 * v->whole;
  if (mine != 0) {
    store_part(v->out + place, xor_blocks(stream, load_part(v->in + place, v->part)), v->part);
  }
}

// Loads the batch of the thread's blocks from j on into the state `s`; in XTS, with the tweaks
// added.
PARAES_INLINE void load_batch(const paraes_job* job, const tile_view* v, paraes_u32 lanes,
                              paraes_u32 j, const int mode, tweak_cursor* tweak, paraes_u32* s) {
  PARAES_UNROLL
  for (int chunk = 0; chunk < PARAES_BATCH; chunk += PARAES_CHUNK) {
    paraes_block x[PARAES_CHUNK];
    fetch_chunk(job, v->in, v->first, lanes, j + chunk, v->left, v->blocks, 0, x, PARAES_CHUNK);
    PARAES_UNROLL
    for (int k = 0; k < PARAES_CHUNK; ++k) {
      PARAES_UNROLL
      for (int w = 0; w < 4; ++w) s[w * PARAES_BATCH + chunk + k] = x[k].w[w];
    }
  }
  if (mode == PARAES_MODE_XTS_ENCRYPT || mode == PARAES_MODE_XTS_DECRYPT) {
    PARAES_UNROLL
    for (int chunk = 0; chunk < PARAES_BATCH; chunk += PARAES_CHUNK) {
      paraes_block y[PARAES_CHUNK];
      next_tweaks(job, tweak, y, PARAES_CHUNK, j + chunk, lanes, v->left);
      PARAES_UNROLL
      for (int k = 0; k < PARAES_CHUNK; ++k) {
        PARAES_UNROLL
        for (int w = 0; w < 4; ++w) s[w * PARAES_BATCH + chunk + k] ^= y[k].w[w];
      }
    }
  }
}

// Adds to the batch what the mode adds after the cipher, and stores it; of blocks from `to` on,
// nothing.
PARAES_INLINE void put_batch(const paraes_job* job, const tile_view* v, paraes_u32 lanes,
                             paraes_u32 j, paraes_u32 to, const int mode, paraes_block iv,
                             tweak_cursor* after, const paraes_u32* s) {
  PARAES_UNROLL
  for (int chunk = 0; chunk < PARAES_BATCH; chunk += PARAES_CHUNK) {
    paraes_block y[PARAES_CHUNK];
    PARAES_UNROLL
    for (int k = 0; k < PARAES_CHUNK; ++k) y[k] = zero_block();
    if (mode == PARAES_MODE_CTR || mode == PARAES_MODE_GCM) {
      fetch_chunk(job, v->in, v->first, lanes, j + chunk, v->left, v->blocks, 0, y, PARAES_CHUNK);
    }
    if (mode == PARAES_MODE_CBC_DECRYPT) {
      const int is_first = chunk == 0 && j == 0 && v->first == 0;
      fetch_chunk(job, v->in, v->first - 1, lanes, j + chunk, v->left, v->blocks, is_first, y,
                  PARAES_CHUNK);
      if (is_first) y[0] = iv;
    }
    if (mode == PARAES_MODE_XTS_ENCRYPT || mode == PARAES_MODE_XTS_DECRYPT) {
      next_tweaks(job, after, y, PARAES_CHUNK, j + chunk, lanes, v->left);
    }
    PARAES_UNROLL
    for (int k = 0; k < PARAES_CHUNK; ++k) {
      const paraes_u32 i = j + chunk + k;
      const paraes_block x = xor_blocks(batch_block(s, chunk + k), y[k]);
      put(job, mode == PARAES_MODE_UNIT_TWEAKS ? (PARAES_GLOBAL paraes_u8*)job->scratch : v->out,
          v->first, lanes, i, i >= to ? 0 : v->left, v->blocks, x);
    }
  }
}

// Processes one tile. `tile` may be beyond the last one, because every thread must reach barriers.
PARAES_INLINE void do_tile(const paraes_job* job, paraes_u64 tile, const int mode,
                           const int narrow) {
  const int xts = mode == PARAES_MODE_XTS_ENCRYPT || mode == PARAES_MODE_XTS_DECRYPT;
  const int counting =
      mode == PARAES_MODE_CTR || mode == PARAES_MODE_GCM || mode == PARAES_MODE_UNIT_TWEAKS;
  const int inverse = mode == PARAES_MODE_ECB_DECRYPT || mode == PARAES_MODE_CBC_DECRYPT ||
                      mode == PARAES_MODE_XTS_DECRYPT;
  const int count = mode == PARAES_MODE_CTR   ? PARAES_COUNT_BIG
                    : mode == PARAES_MODE_GCM ? PARAES_COUNT_32
                                              : PARAES_COUNT_LITTLE;

  const tile_message its = message_of_tile(job, tile);
  const paraes_message message = its.fields;
  PARAES_KEY_SPACE const paraes_u32* key = key_of(job, message.key, inverse);
  const paraes_u32 lanes = PARAES_LANES(job, narrow);
  const paraes_u32 each = PARAES_BLOCKS_EACH(job);
  const paraes_u32 most = lanes * each;
  const paraes_u64 tile_first = (tile - message.first_tile) * most;
  tile_view v = view_of(job, message.in, message.out, tile < job->tiles ? message.bytes : 0,
                        tile_first + job->thread % lanes, most, mode);
  paraes_block iv;
  PARAES_UNROLL
  for (int w = 0; w < 4; ++w) iv.w[w] = message.iv[w];
  if (mode == PARAES_MODE_GCM) iv = counter_block(iv, 1, count);  // the one after J0

  tweak_cursor tweak;
  if (xts) {
    tweak = tweak_cursor_at(job, v.first);
    if (has_shared_tweaks(&tweak)) share_tweaks(job, tile_first, v.blocks);
  }
  paraes_counters counters;
  paraes_u32 from = 0;
  do {
    const paraes_u32 rest = each - from;
    const paraes_u32 serves = counting
                                  ? begin_counters(&counters, job, key, iv, v.first + lanes * from,
                                                   lanes, count, message.flags)
                                  : rest;
    const paraes_u32 to = from + (serves < rest ? serves : rest);
    for (paraes_u32 j = from; j < to; j += PARAES_BATCH) {
#ifndef PARAES_STATE_SHARED
      if (tile_first + lanes * j >= v.blocks + (v.part != 0 ? 1 : 0)) break;
#endif
      paraes_u32 s[4 * PARAES_BATCH];
      tweak_cursor after;
      if (xts) after = tweak;
      if (counting) {
        encrypt_counters(&counters, job, key, j - from, s, count);
      } else {
        load_batch(job, &v, lanes, j, mode, &tweak, s);
        if (inverse) {
          decrypt_batch(job, key, s);
        } else {
          encrypt_batch(job, key, s);
        }
      }
#if PARAES_BATCH > 1 && PARAES_BATCH == PARAES_BLOCKS_PER_THREAD
      // A state this large leaves no registers for values from before the cipher: load and compute
      // them again.
      PARAES_GLOBAL const paraes_message* again =
          job->messages + (paraes_u32)paraes_anew(its.number);
      v = view_of(job, again->in, again->out, again->bytes, paraes_anew(v.first), most, mode);
      if (xts) after = tweak_cursor_at(job, v.first);
#endif
      // The message ends in this tile with a partial block, which is block `blocks`.
      const int has_part = v.part != 0 && v.first <= v.blocks && v.blocks - v.first < most;
      put_batch(job, &v, lanes, j, to, mode, iv, &after, s);
      if (has_part) put_part(&v, s, lanes, j, to);
    }
    from = to;
  } while (from < each);
}

#ifndef PARAES_KEYS_SLICED
// Encrypts PARAES_SINGLES = 1 block under the key with its index.
PARAES_INLINE void encrypt_singles(const paraes_job* job, const paraes_u32* keys, paraes_u32* w) {
  paraes_u32 s[4 * PARAES_BATCH];
  PARAES_UNROLL
  for (int i = 0; i < 4 * PARAES_BATCH; ++i) s[i] = w[i / PARAES_BATCH];
  encrypt_batch(job, key_of(job, keys[0], 0), s);
  PARAES_UNROLL
  for (int i = 0; i < 4; ++i) w[i] = s[i * PARAES_BATCH];
}
#endif

// Encrypts J0 of each message, or the numbers of the `n` data units of one message, to 4 words of
// scratch each.
PARAES_INLINE void do_singles(const paraes_job* job, paraes_u64 n, const int mode) {
  begin_tiles(job, 0);
  const paraes_u64 step = (paraes_u64)PARAES_SINGLES * job->threads * job->groups;
  for (paraes_u64 i =
           (paraes_u64)PARAES_SINGLES * ((paraes_u64)job->threads * job->group + job->thread);
       i < n; i += step) {
    paraes_u32 keys[PARAES_SINGLES];
    paraes_u32 w[4 * PARAES_SINGLES];
    PARAES_UNROLL
    for (int b = 0; b < PARAES_SINGLES; ++b) {
      const paraes_u64 at = i + b < n ? i + b : i;
      const int units = mode == PARAES_MODE_UNIT_TWEAKS;
      PARAES_GLOBAL const paraes_message* message = job->messages + (units ? 0 : at);
      paraes_block x;
      PARAES_UNROLL
      for (int k = 0; k < 4; ++k) x.w[k] = message->iv[k];
      if (units) x = counter_block(x, at, PARAES_COUNT_LITTLE);
      keys[b] = message->key;
      PARAES_UNROLL
      for (int k = 0; k < 4; ++k) w[4 * b + k] = x.w[k];
    }
    encrypt_singles(job, keys, w);
    PARAES_UNROLL
    for (int b = 0; b < PARAES_SINGLES; ++b) {
      paraes_block y;
      PARAES_UNROLL
      for (int k = 0; k < 4; ++k) y.w[k] = w[4 * b + k];
      if (i + b < n) store_block((PARAES_GLOBAL paraes_u8*)(job->scratch + 4 * (i + b)), y);
    }
  }
}

// Distributes the tiles over the threads of all groups.
PARAES_INLINE void do_tiles(const paraes_job* job, const int mode, const int narrow) {
  const int inverse = mode == PARAES_MODE_ECB_DECRYPT || mode == PARAES_MODE_CBC_DECRYPT ||
                      mode == PARAES_MODE_XTS_DECRYPT;
  begin_tiles(job, inverse);
  const paraes_u32 lanes = PARAES_LANES(job, narrow);
  const paraes_u32 at_once = job->threads / lanes;
  const paraes_u64 step = (paraes_u64)at_once * job->groups;
  for (paraes_u64 base = (paraes_u64)at_once * job->group; base < job->tiles; base += step) {
    const paraes_u64 tile = base + job->thread / lanes;
#ifndef PARAES_STATE_SHARED
    if (tile >= job->tiles) break;
#endif
    do_tile(job, tile, mode, narrow);
  }
}

// Modes whose messages may be short have a second entry for narrow tiles in the bitsliced kernel,
// which would otherwise encrypt up to 1023 blocks for nothing at the end of each.
#define PARAES_TILE_ENTRY(name, mode) \
  PARAES_ENTRY(name, PARAES_GROUP_THREADS, PARAES_GROUPS_PER_UNIT) { do_tiles(job, mode, 0); }
#ifdef PARAES_KEYS_SLICED
#define PARAES_TILE_ENTRIES(name, mode)                                       \
  PARAES_TILE_ENTRY(name, mode)                                               \
  PARAES_ENTRY(name##_narrow, PARAES_GROUP_THREADS, PARAES_GROUPS_PER_UNIT) { \
    do_tiles(job, mode, 1);                                                   \
  }
#else
#define PARAES_TILE_ENTRIES(name, mode) PARAES_TILE_ENTRY(name, mode)
#endif

PARAES_TILE_ENTRIES(ecb_encrypt, PARAES_MODE_ECB_ENCRYPT)

PARAES_TILE_ENTRIES(ecb_decrypt, PARAES_MODE_ECB_DECRYPT)

// `out` must not be `in`, because threads read the ciphertext block before each of theirs.
PARAES_TILE_ENTRIES(cbc_decrypt, PARAES_MODE_CBC_DECRYPT)

PARAES_TILE_ENTRIES(ctr, PARAES_MODE_CTR)

PARAES_TILE_ENTRIES(gcm_ctr, PARAES_MODE_GCM)

// Writes the key stream of J0, which masks the tag of message m, to scratch + 4 m.
PARAES_ENTRY(gcm_masks, PARAES_GROUP_THREADS, 1) { do_singles(job, job->count, PARAES_MODE_GCM); }

// Encrypts the unit numbers of one message under the tweak key, each to 4 words of scratch. Tiles
// consist of units instead of blocks.
PARAES_TILE_ENTRY(xts_unit_tweaks, PARAES_MODE_UNIT_TWEAKS)

#ifdef PARAES_KEYS_SLICED
// Encrypts the tweaks of units that are too few to fill planes on all processors.
PARAES_ENTRY(xts_few_unit_tweaks, PARAES_GROUP_THREADS, 1) {
  do_singles(job, units_of(job, job->messages->bytes), PARAES_MODE_UNIT_TWEAKS);
}
#endif

// One message of whole blocks. Scratch holds its stretch tweaks.
PARAES_TILE_ENTRY(xts_encrypt, PARAES_MODE_XTS_ENCRYPT)

PARAES_TILE_ENTRY(xts_decrypt, PARAES_MODE_XTS_DECRYPT)
