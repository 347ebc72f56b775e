// Round tables without bank conflicts: each table has one copy for each of the 32 banks of shared
// memory, and a thread reads the copy of its lane. With 32 blocks per thread, several of them in
// flight, filling the tables costs little. The indices are secret. Although no cache sees them,
// this kernel does not count as constant-time.
//
// Table r, for row r of the state, is table 0 rotated by 8 r bits. PARAES_TABLES is the number of
// stored tables; entries of the others are computed by rotation.
//   1: table 0 in rows of 128 bytes; entry x of lane l is at byte 128 x + 4 l
//   2: tables 0 and 1 in rows of 256 bytes; their entries are at 256 x + 4 l and 128 bytes later
//   4: as 2, and tables 2 and 3 follow at byte 65536
// With 2 or 4 tables a single byte permutation computes an address.

#ifndef PARAES_TABLES
#ifdef PARAES_OPENCL
#define PARAES_TABLES 1
#else
#define PARAES_TABLES 2
#endif
#endif

#if PARAES_TABLES == 1
#define PARAES_ROW_WORDS 32
#else
#define PARAES_ROW_WORDS 64
#endif

PARAES_INLINE void begin_tiles(const paraes_job* job, int inverse) {
  const paraes_u32 lane = job->thread % 32;
  // A warp-sized group of threads writes one row of the tables at a time.
  for (paraes_u32 x = job->thread / 32; x < 256; x += job->threads / 32) {
    const paraes_u32 t = table_entry(x, inverse);
    PARAES_SHARED paraes_u32* to = job->shared + PARAES_ROW_WORDS * x + lane;
    to[0] = t;
#if PARAES_TABLES >= 2
    to[32] = paraes_rotate8(t);
#endif
#if PARAES_TABLES == 4
    to[16384] = paraes_rotate16(t);
    to[16384 + 32] = paraes_rotate24(t);
#endif
  }
  PARAES_BARRIER();
}

// The address of the entry for byte r of `s`, in the copy of a lane. lane4 is 4 times the lane.
PARAES_INLINE paraes_u32 entry_address(paraes_u32 s, const int r, paraes_u32 lane4) {
#if PARAES_TABLES == 1
  return (r == 0 ? s << 7 : s >> (8 * r - 7)) & 0x7f80u | lane4;
#else
  return paraes_permute(lane4, s, 0x1100u | (paraes_u32)(4 + r) << 4);
#endif
}

// Reads an entry of a stored table.
PARAES_INLINE paraes_u32 entry_of(PARAES_SHARED const paraes_u32* t, const int table,
                                  paraes_u32 address) {
  const int offset = table % 2 * 128 + table / 2 * 65536;
  return *(PARAES_SHARED const paraes_u32*)((PARAES_SHARED const paraes_u8*)t + offset + address);
}

// Whether half_column computes rows 2 and 3 rotated by 16 bits.
#define PARAES_PART_TURNED (PARAES_TABLES < 4)

// Adds the entries of two adjacent rows of a column to `sum`: rows 0 and 1, or rows 2 and 3. Byte
// `row` of `a` and byte row + 1 of `b` are the indices.
PARAES_INLINE paraes_u32 half_column(PARAES_SHARED const paraes_u32* t, const int row, paraes_u32 a,
                                     paraes_u32 b, paraes_u32 lane4, paraes_u32 sum) {
  const paraes_u32 p = entry_address(a, row, lane4);
  const paraes_u32 q = entry_address(b, row + 1, lane4);
#if PARAES_TABLES == 1
  return sum ^ entry_of(t, 0, p) ^ paraes_rotate8(entry_of(t, 0, q));
#elif PARAES_TABLES == 2
  return sum ^ entry_of(t, 0, p) ^ entry_of(t, 1, q);
#else
  return sum ^ entry_of(t, row, p) ^ entry_of(t, row + 1, q);
#endif
}

// Converts a word to or from the form in which half_column computes rows 2 and 3.
PARAES_INLINE paraes_u32 turned(paraes_u32 a) {
  return PARAES_PART_TURNED ? paraes_rotate16(a) : a;
}

// SubBytes, ShiftRows, MixColumns and AddRoundKey of one column, whose rows 0 to 3 come from the
// words a to d. turned_key is turned(word of the round key).
PARAES_INLINE paraes_u32 table_column(PARAES_SHARED const paraes_u32* t, paraes_u32 a, paraes_u32 b,
                                      paraes_u32 c, paraes_u32 d, paraes_u32 lane4,
                                      paraes_u32 turned_key) {
  const paraes_u32 low = half_column(t, 2, c, d, lane4, turned_key);
  return half_column(t, 0, a, b, lane4, turned(low));
}

// One column of the last round, without AddRoundKey.
PARAES_INLINE paraes_u32 last_column(PARAES_SHARED const paraes_u32* t, paraes_u32 a, paraes_u32 b,
                                     paraes_u32 c, paraes_u32 d, paraes_u32 lane4,
                                     const int inverse) {
  const paraes_u32 ea = entry_of(t, 0, entry_address(a, 0, lane4));
  const paraes_u32 eb = entry_of(t, 0, entry_address(b, 1, lane4));
  const paraes_u32 ec = entry_of(t, 0, entry_address(c, 2, lane4));
  const paraes_u32 ed = entry_of(t, 0, entry_address(d, 3, lane4));
  if (!inverse) {
    // Bytes 1 and 2 of an entry of table 0 are the value of the S-box.
    return paraes_permute(paraes_permute(ea, eb, 0x0051u), paraes_permute(ec, ed, 0x5100u),
                          0x7610u);
  }
  // 14 + 9 + 13 + 11 = 1 in GF(2^8): the bytes of an entry add up to the value of the inverse
  // S-box.
  const paraes_u32 ab = paraes_permute(ea, eb, 0x5410u) ^ paraes_permute(ea, eb, 0x7632u);
  const paraes_u32 cd = paraes_permute(ec, ed, 0x5410u) ^ paraes_permute(ec, ed, 0x7632u);
  return paraes_permute(ab, cd, 0x6420u) ^ paraes_permute(ab, cd, 0x7531u);
}

// One round, but not the last, of PARAES_BATCH blocks. ShiftRows takes row r from column c + r,
// InvShiftRows from column c - r, which is c + 3 r modulo 4.
PARAES_LARGE void table_round(const paraes_job* job, PARAES_KEY_SPACE const paraes_u32* key,
                              paraes_u32* s, const int inverse) {
  const paraes_u32 lane4 = job->thread % 32 * 4;
  const int step = inverse ? 3 : 1;
  paraes_u32 n[4 * PARAES_BATCH];
  PARAES_UNROLL
  for (int c = 0; c < 4; ++c) {
    const paraes_u32 k = turned(key[c]);
    PARAES_UNROLL
    for (int i = 0; i < PARAES_BATCH; ++i) {
      n[c * PARAES_BATCH + i] =
          table_column(job->shared, s[c * PARAES_BATCH + i], s[(c + step) % 4 * PARAES_BATCH + i],
                       s[(c + 2 * step) % 4 * PARAES_BATCH + i],
                       s[(c + 3 * step) % 4 * PARAES_BATCH + i], lane4, k);
    }
  }
  PARAES_UNROLL
  for (int i = 0; i < 4 * PARAES_BATCH; ++i) s[i] = n[i];
}

PARAES_LARGE void last_round(const paraes_job* job, PARAES_KEY_SPACE const paraes_u32* key,
                             paraes_u32* s, const int inverse) {
  const paraes_u32 lane4 = job->thread % 32 * 4;
  const int step = inverse ? 3 : 1;
  paraes_u32 n[4 * PARAES_BATCH];
  PARAES_UNROLL
  for (int c = 0; c < 4; ++c) {
    PARAES_UNROLL
    for (int i = 0; i < PARAES_BATCH; ++i) {
      n[c * PARAES_BATCH + i] =
          last_column(job->shared, s[c * PARAES_BATCH + i], s[(c + step) % 4 * PARAES_BATCH + i],
                      s[(c + 2 * step) % 4 * PARAES_BATCH + i],
                      s[(c + 3 * step) % 4 * PARAES_BATCH + i], lane4, inverse) ^
          key[c];
    }
  }
  PARAES_UNROLL
  for (int i = 0; i < 4 * PARAES_BATCH; ++i) s[i] = n[i];
}

// All rounds from `round` to the last.
PARAES_INLINE void table_rounds(const paraes_job* job, PARAES_KEY_SPACE const paraes_u32* key,
                                paraes_u32* s, paraes_u32 round, const int inverse) {
  for (; round < job->rounds; ++round) table_round(job, key + 4 * round, s, inverse);
  last_round(job, key + 4 * round, s, inverse);
}

PARAES_INLINE void add_first_key(PARAES_KEY_SPACE const paraes_u32* key, paraes_u32* s) {
  PARAES_UNROLL
  for (int i = 0; i < 4 * PARAES_BATCH; ++i) s[i] ^= key[i / PARAES_BATCH];
}

PARAES_INLINE void encrypt_batch(const paraes_job* job, PARAES_KEY_SPACE const paraes_u32* key,
                                 paraes_u32* s) {
  add_first_key(key, s);
  table_rounds(job, key, s, 1, 0);
}

PARAES_INLINE void decrypt_batch(const paraes_job* job, PARAES_KEY_SPACE const paraes_u32* key,
                                 paraes_u32* s) {
  add_first_key(key, s);
  table_rounds(job, key, s, 1, 1);
}
