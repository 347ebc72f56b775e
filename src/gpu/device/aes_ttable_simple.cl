// Four round tables of 1 KiB in shared memory, one block per thread (the papers' AES-AIM on a GPU):
// SubBytes, ShiftRows and MixColumns of a column take four look-ups. The indices are secret, and
// bank conflicts depend on them, so this kernel is for the laboratory.

// Shared memory: table r from word 256 r on, then, from word 1024 on, the bytes of the S-box or its
// inverse.
PARAES_INLINE void begin_tiles(const paraes_job* job, int inverse) {
  PARAES_SHARED paraes_u8* box = (PARAES_SHARED paraes_u8*)(job->shared + 1024);
  for (paraes_u32 x = job->thread; x < 256; x += job->threads) {
    const paraes_u32 t = table_entry(x, inverse);
    job->shared[x] = t;
    job->shared[256 + x] = paraes_rotate8(t);
    job->shared[512 + x] = paraes_rotate16(t);
    job->shared[768 + x] = paraes_rotate24(t);
    box[x] = inverse ? inverse_sbox[x] : sbox[x];
  }
  PARAES_BARRIER();
}

// `step` is 1 for ShiftRows, which takes row r from column c + r, and 3 for InvShiftRows, which
// takes it from column c - r, that is c + 3 r modulo 4.
PARAES_LARGE void cipher_block(const paraes_job* job, PARAES_KEY_SPACE const paraes_u32* key,
                               paraes_u32* s, const int step) {
  PARAES_SHARED const paraes_u32* t = job->shared;
  PARAES_SHARED const paraes_u8* box = (PARAES_SHARED const paraes_u8*)(job->shared + 1024);
  paraes_u32 n[4];
  PARAES_UNROLL
  for (int c = 0; c < 4; ++c) s[c] ^= key[c];
  for (paraes_u32 round = 1; round < job->rounds; ++round) {
    key += 4;
    PARAES_UNROLL
    for (int c = 0; c < 4; ++c) {
      n[c] = t[s[c] & 0xff] ^ t[256 + (s[(c + step) % 4] >> 8 & 0xff)] ^
             t[512 + (s[(c + 2 * step) % 4] >> 16 & 0xff)] ^
             t[768 + (s[(c + 3 * step) % 4] >> 24)] ^ key[c];
    }
    PARAES_UNROLL
    for (int c = 0; c < 4; ++c) s[c] = n[c];
  }
  PARAES_UNROLL
  for (int c = 0; c < 4; ++c) {
    n[c] = (paraes_u32)box[s[c] & 0xff] | (paraes_u32)box[s[(c + step) % 4] >> 8 & 0xff] << 8 |
           (paraes_u32)box[s[(c + 2 * step) % 4] >> 16 & 0xff] << 16 |
           (paraes_u32)box[s[(c + 3 * step) % 4] >> 24] << 24;
  }
  PARAES_UNROLL
  for (int c = 0; c < 4; ++c) s[c] = n[c] ^ key[4 + c];
}

PARAES_INLINE void encrypt_batch(const paraes_job* job, PARAES_KEY_SPACE const paraes_u32* key,
                                 paraes_u32* s) {
  cipher_block(job, key, s, 1);
}

PARAES_INLINE void decrypt_batch(const paraes_job* job, PARAES_KEY_SPACE const paraes_u32* key,
                                 paraes_u32* s) {
  cipher_block(job, key, s, 3);
}
