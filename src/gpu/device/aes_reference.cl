// FIPS 197 as written, one byte at a time, with the S-box in constant memory. With
// PARAES_STATE_SHARED a thread keeps its state in shared memory, otherwise in registers. The S-box
// look-ups depend on secrets, so this kernel is for the laboratory. The table kernels use it for
// GHASH keys and key expansion.

#ifdef PARAES_STATE_SHARED
#define PARAES_STATE_SPACE PARAES_SHARED
#else
#define PARAES_STATE_SPACE
#endif

PARAES_INLINE paraes_u8 xtime(paraes_u8 a) { return (paraes_u8)((a << 1) ^ ((a >> 7) * 0x1b)); }

// Byte r + 4 c of the state is row r, column c (FIPS 197 section 3.4). ShiftRows moves row r by r
// columns. SubBytes changes each byte separately, so both are done in one step.
PARAES_INLINE void sub_bytes_shift_rows(PARAES_STATE_SPACE paraes_u8* s) {
  const paraes_u8 t1 = sbox[s[1]];
  const paraes_u8 t2 = sbox[s[2]];
  const paraes_u8 t6 = sbox[s[6]];
  const paraes_u8 t3 = sbox[s[3]];
  s[0] = sbox[s[0]];
  s[4] = sbox[s[4]];
  s[8] = sbox[s[8]];
  s[12] = sbox[s[12]];
  s[1] = sbox[s[5]];
  s[5] = sbox[s[9]];
  s[9] = sbox[s[13]];
  s[13] = t1;
  s[2] = sbox[s[10]];
  s[10] = t2;
  s[6] = sbox[s[14]];
  s[14] = t6;
  s[3] = sbox[s[15]];
  s[15] = sbox[s[11]];
  s[11] = sbox[s[7]];
  s[7] = t3;
}

PARAES_INLINE void inverse_sub_bytes_shift_rows(PARAES_STATE_SPACE paraes_u8* s) {
  const paraes_u8 t13 = inverse_sbox[s[13]];
  const paraes_u8 t10 = inverse_sbox[s[10]];
  const paraes_u8 t14 = inverse_sbox[s[14]];
  const paraes_u8 t3 = inverse_sbox[s[3]];
  s[0] = inverse_sbox[s[0]];
  s[4] = inverse_sbox[s[4]];
  s[8] = inverse_sbox[s[8]];
  s[12] = inverse_sbox[s[12]];
  s[13] = inverse_sbox[s[9]];
  s[9] = inverse_sbox[s[5]];
  s[5] = inverse_sbox[s[1]];
  s[1] = t13;
  s[10] = inverse_sbox[s[2]];
  s[2] = t10;
  s[14] = inverse_sbox[s[6]];
  s[6] = t14;
  s[3] = inverse_sbox[s[7]];
  s[7] = inverse_sbox[s[11]];
  s[11] = inverse_sbox[s[15]];
  s[15] = t3;
}

PARAES_INLINE void mix_columns(PARAES_STATE_SPACE paraes_u8* s) {
  PARAES_UNROLL
  for (int c = 0; c < 16; c += 4) {
    const paraes_u8 a0 = s[c], a1 = s[c + 1], a2 = s[c + 2], a3 = s[c + 3];
    const paraes_u8 all = a0 ^ a1 ^ a2 ^ a3;
    s[c] = (paraes_u8)(a0 ^ all ^ xtime(a0 ^ a1));
    s[c + 1] = (paraes_u8)(a1 ^ all ^ xtime(a1 ^ a2));
    s[c + 2] = (paraes_u8)(a2 ^ all ^ xtime(a2 ^ a3));
    s[c + 3] = (paraes_u8)(a3 ^ all ^ xtime(a3 ^ a0));
  }
}

// Adding 4 (a[r] + a[r + 2]) to every row turns InvMixColumns into MixColumns.
PARAES_INLINE void inverse_mix_columns(PARAES_STATE_SPACE paraes_u8* s) {
  PARAES_UNROLL
  for (int c = 0; c < 16; c += 4) {
    const paraes_u8 even = xtime(xtime(s[c] ^ s[c + 2]));
    const paraes_u8 odd = xtime(xtime(s[c + 1] ^ s[c + 3]));
    s[c] ^= even;
    s[c + 1] ^= odd;
    s[c + 2] ^= even;
    s[c + 3] ^= odd;
  }
  mix_columns(s);
}

PARAES_INLINE void add_round_key(PARAES_STATE_SPACE paraes_u8* s,
                                 PARAES_KEY_SPACE const paraes_u32* key) {
  PARAES_UNROLL
  for (int i = 0; i < 16; ++i) s[i] ^= (paraes_u8)(key[i / 4] >> 8 * (i % 4));
}

PARAES_INLINE void put_state(PARAES_STATE_SPACE paraes_u8* s, const paraes_u32* w) {
  PARAES_UNROLL
  for (int i = 0; i < 16; ++i) s[i] = (paraes_u8)(w[i / 4] >> 8 * (i % 4));
}

PARAES_INLINE void get_state(PARAES_STATE_SPACE const paraes_u8* s, paraes_u32* w) {
  PARAES_UNROLL
  for (int i = 0; i < 4; ++i) {
    w[i] = (paraes_u32)s[4 * i] | (paraes_u32)s[4 * i + 1] << 8 | (paraes_u32)s[4 * i + 2] << 16 |
           (paraes_u32)s[4 * i + 3] << 24;
  }
}

#ifdef PARAES_STATE_SHARED
#define PARAES_DECLARE_STATE(job, s) \
  PARAES_SHARED paraes_u8* s = (PARAES_SHARED paraes_u8*)((job)->shared + 4 * (job)->thread)
#else
#define PARAES_DECLARE_STATE(job, s) paraes_u8 s[16]
#endif

// Cipher (FIPS 197 section 5.1), or EqInvCipher (section 5.3.5).
PARAES_LARGE void reference_cipher(const paraes_job* job, PARAES_KEY_SPACE const paraes_u32* key,
                                   paraes_u32* w, const int inverse) {
  PARAES_DECLARE_STATE(job, s);
  put_state(s, w);
  add_round_key(s, key);
  for (paraes_u32 round = 1; round < job->rounds; ++round) {
    if (inverse) {
      inverse_sub_bytes_shift_rows(s);
      inverse_mix_columns(s);
    } else {
      sub_bytes_shift_rows(s);
      mix_columns(s);
    }
    add_round_key(s, key + 4 * round);
  }
  if (inverse) {
    inverse_sub_bytes_shift_rows(s);
  } else {
    sub_bytes_shift_rows(s);
  }
  add_round_key(s, key + 4 * job->rounds);
  get_state(s, w);
}

#ifdef PARAES_KERNEL_REFERENCE
PARAES_INLINE void begin_tiles(const paraes_job* job, int inverse) {
  (void)job;
  (void)inverse;
}

PARAES_INLINE void encrypt_batch(const paraes_job* job, PARAES_KEY_SPACE const paraes_u32* key,
                                 paraes_u32* s) {
  reference_cipher(job, key, s, 0);
}

PARAES_INLINE void decrypt_batch(const paraes_job* job, PARAES_KEY_SPACE const paraes_u32* key,
                                 paraes_u32* s) {
  reference_cipher(job, key, s, 1);
}
#endif

PARAES_INLINE paraes_u32 sub_word(paraes_u32 a) {
  return (paraes_u32)sbox[a & 0xff] | (paraes_u32)sbox[a >> 8 & 0xff] << 8 |
         (paraes_u32)sbox[a >> 16 & 0xff] << 16 | (paraes_u32)sbox[a >> 24] << 24;
}
