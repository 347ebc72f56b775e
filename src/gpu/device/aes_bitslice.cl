// Bitsliced AES in constant time: 32 blocks per thread and no tables. Plane 32 w + i holds bit i of
// word w of the 32 blocks, so byte r + 4 c of the state (row r, column c) is the eight planes from
// 8 (r + 4 c) on, and ShiftRows only renames planes. The state fills 128 registers: except in
// compact programs, code may index it only with values that the compiler knows.
//
// A sliced key stores every bit of a schedule's round keys as a word of 32 equal bits: first those
// of `encrypt`, then, from word PARAES_SLICED_ROUNDS_WORDS on, those of `decrypt`. The constant
// 0x63 of SubBytes is folded into these round keys, and the circuits leave it out. Round keys 0 and
// 1 of `encrypt` follow unsliced.

// SubBytes without its constant on eight planes, lowest bit first: the circuit of Boyar and Peralta
// ("A small depth-16 circuit for the AES S-box", 2012), mapped to three-input functions. Computing
// some sums twice takes fewer of these.
PARAES_LARGE void sub_bytes(paraes_u32* q) {
  const paraes_u32 x0 = q[7], x1 = q[6], x2 = q[5], x3 = q[4];
  const paraes_u32 x4 = q[3], x5 = q[2], x6 = q[1], x7 = q[0];

  // Top linear layer.
  const paraes_u32 y14 = x3 ^ x5;
  const paraes_u32 y13 = x0 ^ x6;
  const paraes_u32 y9 = x0 ^ x3;
  const paraes_u32 y8 = x0 ^ x5;
  const paraes_u32 y1 = paraes_xor3(x1, x2, x7);
  const paraes_u32 y12 = paraes_xor3(x0, x6, y14);
  const paraes_u32 y5 = y1 ^ x6;
  const paraes_u32 y15 = paraes_xor3(x4, x5, y12);
  const paraes_u32 y20 = paraes_xor3(x4, x1, y12);
  const paraes_u32 y6 = y15 ^ x7;
  const paraes_u32 y10 = paraes_xor3(x1, x2, y15);
  const paraes_u32 y11 = paraes_xor3(x0, x3, y20);
  const paraes_u32 y7 = x7 ^ y11;
  const paraes_u32 y17 = y10 ^ y11;
  const paraes_u32 y16 = paraes_xor3(x1, x2, y11);
  const paraes_u32 y21 = paraes_xor3(x0, x6, y16);

  // Inversion in GF(2^8), using GF(2^4).
  const paraes_u32 t4 = paraes_and_xor(y12, y15, paraes_xor_and(y5, y8, y6));
  const paraes_u32 t6 = paraes_and_xor(y12, y15, paraes_xor_and(y1, x3, x7));
  const paraes_u32 t7 = paraes_xor_and(x0, x6, y16);
  const paraes_u32 t9 = (y1 & ~x6) ^ t7;
  const paraes_u32 t10 = paraes_xor_and(y1, x0, y7);
  const paraes_u32 t12 = (x0 ^ x3) & ~y20;
  const paraes_u32 t14 = paraes_and_xor(y14, y17, t12);
  const paraes_u32 t16 = paraes_and_xor(y8, y10, t12);
  const paraes_u32 t21 = paraes_xor3(t4, t14, y20);
  const paraes_u32 t22 = paraes_xor3(t6 ^ t16, y10, y8);
  const paraes_u32 t23 = paraes_xor3(t9, t14, y21);
  const paraes_u32 t24 = paraes_xor3(paraes_xor3(t10, t7, t16), x0, y16);
  const paraes_u32 t27 = paraes_and_xor(t21, t23, t24);
  const paraes_u32 t29 = paraes_choose(t27, t21, t22);
  const paraes_u32 t31 = paraes_and_xor(t21, t23, t22);
  const paraes_u32 t33 = paraes_choose(t31, t23, t24);
  const paraes_u32 t36 = paraes_xor_and(t27, t33, t24);
  const paraes_u32 t37 = paraes_xor3(t36, t23, t33);
  const paraes_u32 t39 = paraes_xor_and(t27, t36, t29);
  const paraes_u32 t40 = paraes_xor3(t21, t22, t39);
  const paraes_u32 t41 = t40 ^ t37;
  const paraes_u32 t42 = t29 ^ t33;
  const paraes_u32 t44 = t33 ^ t37;
  const paraes_u32 z2 = t33 & x7;
  const paraes_u32 z3 = paraes_xor_and(t29, t40, y16);
  const paraes_u32 z4 = t40 & y1;
  const paraes_u32 z5 = paraes_xor_and(x7, y11, t29);
  const paraes_u32 z7 = paraes_xor_and(t42, t41, y17);
  const paraes_u32 z10 = paraes_xor_and(y5, y8, t37);
  const paraes_u32 z11 = paraes_xor_and(y1, x3, t33);
  const paraes_u32 z12 = paraes_xor_and(t29, t40, y13);
  const paraes_u32 z14 = paraes_xor_and(y1, x0, t29);
  const paraes_u32 z16 = paraes_xor_and(t42, t41, y14);

  // Bottom linear layer, merged with the products that are used only once.
  const paraes_u32 t46 = paraes_and_xor(t42, y9, z16);
  const paraes_u32 t48 = paraes_and_xor(t40, y5, z5);
  const paraes_u32 t49 = paraes_and_xor(t44, y12, z10);
  const paraes_u32 t52 = paraes_and_xor(t41, y10, z7);
  const paraes_u32 t53 = paraes_and_xor(t44, y15, z3);
  const paraes_u32 t54 = paraes_and_xor(t42, y11, z7);
  const paraes_u32 t55 = paraes_and_xor(t41, y8, z16);
  const paraes_u32 t57 = paraes_xor3(z2, z12, t53);
  const paraes_u32 t62 = paraes_xor3(t52, z4, t46);
  const paraes_u32 t63 = paraes_xor3(t49, z4, t46);
  const paraes_u32 t64 = paraes_xor3(z4, z3, t54);
  const paraes_u32 t65 = paraes_xor3(z14, t57, t62);
  const paraes_u32 t66 = paraes_and_xor(t37, y6, t63);
  const paraes_u32 s3 = t53 ^ t66;
  q[7] = paraes_xor3(z3, t54, t63);
  q[6] = t64 ^ s3;
  q[5] = paraes_xor3(t55, t64, t65);
  q[4] = s3;
  q[3] = paraes_xor3(z2, z5, t66);
  q[2] = paraes_xor3(z10, z11, t65);
  q[1] = paraes_xor3(z12, t48, t62);
  q[0] = paraes_xor3(t48, t46, t57);
}

// The inverse of the affine map of SubBytes, without its constant.
PARAES_INLINE void inverse_affine(paraes_u32* q) {
  paraes_u32 r[8];
  PARAES_UNROLL
  for (int i = 0; i < 8; ++i) r[i] = paraes_xor3(q[(i + 2) % 8], q[(i + 5) % 8], q[(i + 7) % 8]);
  PARAES_UNROLL
  for (int i = 0; i < 8; ++i) q[i] = r[i];
}

// SubBytes is an inversion I followed by an affine map A. Its inverse I A^-1 equals
// A^-1 (A I) A^-1, so sub_bytes between two inverse affine maps computes it.
PARAES_INLINE void inverse_sub_bytes(paraes_u32* q) {
  inverse_affine(q);
  sub_bytes(q);
  inverse_affine(q);
}

// Four planes of a round key.
PARAES_INLINE paraes_block key_planes(PARAES_GLOBAL const paraes_u32* key, int plane) {
  return load_block((PARAES_GLOBAL const paraes_u8*)(key + plane));
}

PARAES_INLINE void add_round_key(paraes_u32* s, PARAES_GLOBAL const paraes_u32* key) {
  PARAES_UNROLL
  for (int p = 0; p < 128; p += 4) {
    const paraes_block k = key_planes(key, p);
    PARAES_UNROLL
    for (int i = 0; i < 4; ++i) s[p + i] ^= k.w[i];
  }
}

// The first plane of the byte that ShiftRows or InvShiftRows moves to row r, column c. It comes
// from column c + r, or for the inverse from column c - r, which is c + 3 r modulo 4.
#define PARAES_SHIFTED(r, c, inverse) (8 * ((r) + 4 * (((c) + ((inverse) ? 3 : 1) * (r)) % 4)))

// ShiftRows and AddRoundKey of the last round.
PARAES_INLINE void shift_rows_add_key(paraes_u32* s, PARAES_GLOBAL const paraes_u32* key,
                                      const int inverse) {
  paraes_u32 n[128];
  PARAES_UNROLL
  for (int p = 0; p < 128; p += 4) {
    const paraes_block k = key_planes(key, p);
    PARAES_UNROLL
    for (int i = 0; i < 4; ++i) {
      n[p + i] = s[PARAES_SHIFTED(p / 8 % 4, p / 32, inverse) + p % 8 + i] ^ k.w[i];
    }
  }
  PARAES_UNROLL
  for (int p = 0; p < 128; ++p) s[p] = n[p];
}

// MixColumns and AddRoundKey of one column, whose four rows are the planes `a`. With
// t[r] = a[r] + a[r + 1], row r becomes x t[r] + a[r + 1] + t[r + 2].
PARAES_INLINE void mix_column_add_key(const paraes_u32* a, paraes_u32* to,
                                      PARAES_GLOBAL const paraes_u32* key) {
  paraes_u32 t[32];
  PARAES_UNROLL
  for (int i = 0; i < 32; ++i) t[i] = a[i] ^ a[(i + 8) % 32];
  PARAES_UNROLL
  for (int i = 0; i < 32; i += 4) {
    const paraes_block k = key_planes(key, i);
    PARAES_UNROLL
    for (int j = i; j < i + 4; ++j) {
      const int row = j / 8 * 8;
      const int bit = j % 8;
      const paraes_u32 sum = paraes_xor3(t[row + (bit + 7) % 8], a[(j + 8) % 32], t[(j + 16) % 32]);
      const int reduces = bit == 1 || bit == 3 || bit == 4;
      to[j] = reduces ? paraes_xor3(sum, t[row + 7], k.w[j - i]) : sum ^ k.w[j - i];
    }
  }
}

// Adding x^2 (a[r] + a[r + 2]) to every row turns InvMixColumns into MixColumns.
PARAES_INLINE void prepare_inverse_column(paraes_u32* a) {
  PARAES_UNROLL
  for (int r = 0; r < 16; r += 8) {
    paraes_u32 d[8];
    PARAES_UNROLL
    for (int i = 0; i < 8; ++i) d[i] = a[r + i] ^ a[r + 16 + i];
    const paraes_u32 d67 = d[6] ^ d[7];
    PARAES_UNROLL
    for (int half_column = 0; half_column < 32; half_column += 16) {
      paraes_u32* q = a + r + half_column;
      q[0] = q[0] ^ d[6];
      q[1] = q[1] ^ d67;
      q[2] = paraes_xor3(q[2], d[0], d[7]);
      q[3] = paraes_xor3(q[3], d[1], d[6]);
      q[4] = paraes_xor3(q[4], d[2], d67);
      q[5] = paraes_xor3(q[5], d[3], d[7]);
      q[6] = q[6] ^ d[4];
      q[7] = q[7] ^ d[5];
    }
  }
}

// ShiftRows, MixColumns and AddRoundKey of every round but the last.
PARAES_LARGE void mix_round(paraes_u32* s, PARAES_GLOBAL const paraes_u32* key, const int inverse) {
  paraes_u32 n[128];
  PARAES_UNROLL
  for (int c = 0; c < 4; ++c) {
    paraes_u32 a[32];
    PARAES_UNROLL
    for (int i = 0; i < 32; ++i) a[i] = s[PARAES_SHIFTED(i / 8, c, inverse) + i % 8];
    if (inverse) prepare_inverse_column(a);
    mix_column_add_key(a, n + 32 * c, key + 32 * c);
    paraes_settle(n + 32 * c, 32);
  }
  PARAES_UNROLL
  for (int p = 0; p < 128; ++p) s[p] = n[p];
}

PARAES_LARGE void substitute_all(paraes_u32* s, const int inverse) {
  PARAES_UNROLL
  for (int p = 0; p < 128; p += 8) {
    if (inverse) {
      inverse_sub_bytes(s + p);
    } else {
      sub_bytes(s + p);
    }
    paraes_settle(s + p, 8);
  }
}

// Cipher and EqInvCipher (FIPS 197 sections 5.1 and 5.3.5), continued after the substitution of
// round `round`. The loop body is one round, about 25 KiB of instructions.
PARAES_INLINE void cipher_rounds(const paraes_job* job, PARAES_GLOBAL const paraes_u32* key,
                                 paraes_u32* s, paraes_u32 round, const int inverse) {
  for (; round != job->rounds; ++round) {
    mix_round(s, key + 128 * round, inverse);
    substitute_all(s, inverse);
  }
  shift_rows_add_key(s, key + 128 * round, inverse);
}

// Exchanges bit i of each byte of word k with bit k of the same byte of word i, for eight words. It
// is its own inverse.
PARAES_INLINE void transpose_bytes(paraes_u32* a) {
  PARAES_UNROLL
  for (int k = 0; k < 4; ++k) {
    const paraes_u32 low = a[k], high = a[k + 4];
    a[k] = paraes_choose(0x0f0f0f0fu, low, high << 4);
    a[k + 4] = paraes_choose(0x0f0f0f0fu, low >> 4, high);
  }
  PARAES_UNROLL
  for (int i = 0; i < 4; ++i) {
    const int k = i / 2 * 4 + i % 2;
    const paraes_u32 low = a[k], high = a[k + 2];
    a[k] = paraes_choose(0x33333333u, low, high << 2);
    a[k + 2] = paraes_choose(0x33333333u, low >> 2, high);
  }
  PARAES_UNROLL
  for (int k = 0; k < 8; k += 2) {
    const paraes_u32 low = a[k], high = a[k + 1];
    a[k] = paraes_choose(0x55555555u, low, high << 1);
    a[k + 1] = paraes_choose(0x55555555u, low >> 1, high);
  }
}

// Transposes a matrix of 32 × 32 bits. It is its own inverse.
PARAES_LARGE void transpose(paraes_u32* a) {
  PARAES_UNROLL
  for (int k = 0; k < 16; ++k) {
    const paraes_u32 low = a[k], high = a[k + 16];
    a[k] = paraes_permute(low, high, 0x5410u);
    a[k + 16] = paraes_permute(low, high, 0x7632u);
  }
  PARAES_UNROLL
  for (int i = 0; i < 16; ++i) {
    const int k = i / 8 * 16 + i % 8;
    const paraes_u32 low = a[k], high = a[k + 8];
    a[k] = paraes_permute(low, high, 0x6240u);
    a[k + 8] = paraes_permute(low, high, 0x7351u);
  }
  PARAES_UNROLL
  for (int k = 0; k < 32; k += 8) transpose_bytes(a + k);
}

PARAES_INLINE void transpose_all(paraes_u32* s) {
  PARAES_UNROLL
  for (int w = 0; w < 128; w += 32) transpose(s + w);
}

PARAES_INLINE void begin_tiles(const paraes_job* job, int inverse) {
  (void)job;
  (void)inverse;
}

PARAES_INLINE void cipher_planes(const paraes_job* job, PARAES_GLOBAL const paraes_u32* key,
                                 paraes_u32* s, const int inverse) {
  add_round_key(s, key);
  substitute_all(s, inverse);
  cipher_rounds(job, key, s, 1, inverse);
}

PARAES_INLINE void encrypt_batch(const paraes_job* job, PARAES_GLOBAL const paraes_u32* key,
                                 paraes_u32* s) {
  transpose_all(s);
  cipher_planes(job, key, s, 0);
  transpose_all(s);
}

PARAES_INLINE void decrypt_batch(const paraes_job* job, PARAES_GLOBAL const paraes_u32* key,
                                 paraes_u32* s) {
  transpose_all(s);
  cipher_planes(job, key, s, 1);
  transpose_all(s);
}

// SubBytes without its constant on the bytes of eight words: between the transpositions, bit
// 8 r + k of plane i is bit i of byte r of word k.
PARAES_LARGE void sub_bytes_of_words(paraes_u32* w) {
  transpose_bytes(w);
  sub_bytes(w);
  transpose_bytes(w);
}

// SubWord (FIPS 197 section 5.2) without table look-ups.
PARAES_INLINE paraes_u32 sub_word(paraes_u32 a) {
  paraes_u32 w[8];
  PARAES_UNROLL
  for (int k = 0; k < 8; ++k) w[k] = k == 0 ? a : 0;
  sub_bytes_of_words(w);
  return w[0] ^ 0x63636363u;
}

// ShiftRows: column c of the four columns x.
PARAES_INLINE paraes_u32 shifted_column(const paraes_u32* x, const int c) {
  return paraes_choose(0xffffu, paraes_choose(0xffu, x[c], x[(c + 1) % 4]),
                       paraes_choose(0xff0000u, x[(c + 2) % 4], x[(c + 3) % 4]));
}

// MixColumns of one column.
PARAES_INLINE paraes_u32 mix_word(paraes_u32 a) {
  const paraes_u32 twice = xtime4(a);
  return twice ^ paraes_rotate24(a ^ twice) ^ paraes_rotate16(a) ^ paraes_rotate8(a);
}

// Cipher (FIPS 197 section 5.1) of PARAES_SINGLES = 2 blocks that are too few for planes, each
// under the key with its index. Block b is the words from 4 b on, and the job's `keys` are
// schedules. On sm_90 a round takes 153 instructions a block, and 49 in planes, but planes need 16
// times as many blocks.
PARAES_LARGE void encrypt_singles(const paraes_job* job, const paraes_u32* keys, paraes_u32* w) {
  PARAES_GLOBAL const paraes_u32* key[PARAES_SINGLES];
  PARAES_UNROLL
  for (int b = 0; b < PARAES_SINGLES; ++b) key[b] = job->keys + (paraes_u64)120 * keys[b];
  PARAES_UNROLL
  for (int i = 0; i < 8; ++i) w[i] ^= key[i / 4][i % 4];
  for (paraes_u32 round = 1; round <= job->rounds; ++round) {
    sub_bytes_of_words(w);
    paraes_u32 n[8];
    PARAES_UNROLL
    for (int i = 0; i < 8; ++i) n[i] = shifted_column(w + i / 4 * 4, i % 4);
    PARAES_UNROLL
    for (int i = 0; i < 8; ++i) {
      if (round != job->rounds) n[i] = mix_word(n[i]);
      // MixColumns leaves the constant of SubBytes as it is.
      w[i] = paraes_xor3(n[i], key[i / 4][4 * round + i % 4], 0x63636363u);
    }
  }
}
