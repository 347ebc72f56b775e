// Blocks, words and parts of texts. Texts begin at multiples of 16 bytes, or, with
// PARAES_ANY_ADDRESS=1, anywhere. Then aligned words are loaded and the bytes taken out of them:
// the first word may have up to three bytes before the text, which lie in the same allocation,
// because allocations begin at multiples of 4. Nothing behind the text is read: there `is_last`
// says so.

// The first n <= 16 bytes of a block; the others are zero.
PARAES_INLINE paraes_block load_part(PARAES_GLOBAL const paraes_u8* from, paraes_u32 n) {
  paraes_block b = zero_block();
  for (paraes_u32 i = 0; i < n; ++i) {
    const paraes_u32 byte = (paraes_u32)from[i] << 8 * (i % 4);
    // Not w[i / 4]: a run-time index would move the block out of the registers.
    b.w[0] |= i / 4 == 0 ? byte : 0;
    b.w[1] |= i / 4 == 1 ? byte : 0;
    b.w[2] |= i / 4 == 2 ? byte : 0;
    b.w[3] |= i / 4 == 3 ? byte : 0;
  }
  return b;
}

PARAES_INLINE void store_part(PARAES_GLOBAL paraes_u8* to, paraes_block b, paraes_u32 n) {
  for (paraes_u32 i = 0; i < n; ++i) {
    const paraes_u32 word = i < 8 ? (i < 4 ? b.w[0] : b.w[1]) : (i < 12 ? b.w[2] : b.w[3]);
    to[i] = (paraes_u8)(word >> 8 * (i % 4));
  }
}

// How many bytes after a multiple of 4 an address is.
PARAES_INLINE paraes_u32 bytes_into_word(PARAES_GLOBAL const paraes_u8* at) {
  return (paraes_u32)(paraes_address)at & 3;
}

#if PARAES_ANY_ADDRESS
// The word that begins n < 4 bytes after `low` does, where `high` is the next one.
PARAES_INLINE paraes_u32 word_within(paraes_u32 low, paraes_u32 high, paraes_u32 n) {
  return paraes_funnel_right(high, low, 8 * n);
}

// The n < 4 bytes at `from`, as the lowest of a word.
PARAES_INLINE paraes_u32 load_bytes(PARAES_GLOBAL const paraes_u8* from, paraes_u32 n) {
  paraes_u32 word = 0;
  PARAES_NO_UNROLL
  for (paraes_u32 i = 0; i < n; ++i) word |= (paraes_u32)from[i] << 8 * i;
  return word;
}

PARAES_INLINE paraes_u32 load_text_word(PARAES_GLOBAL const paraes_u8* from, int is_last) {
  const paraes_u32 n = bytes_into_word(from);
  PARAES_GLOBAL const paraes_u32* words = (PARAES_GLOBAL const paraes_u32*)(from - n);
  const paraes_u32 high = is_last ? load_bytes(from + 4 - n, n) : words[n == 0 ? 0 : 1];
  return word_within(words[0], high, n);
}

PARAES_INLINE paraes_block load_text(PARAES_GLOBAL const paraes_u8* from, int is_last) {
  const paraes_u32 n = bytes_into_word(from);
  PARAES_GLOBAL const paraes_u32* words = (PARAES_GLOBAL const paraes_u32*)(from - n);
  const paraes_u32 high = is_last ? load_bytes(from + 16 - n, n) : words[n == 0 ? 3 : 4];
  const paraes_u32 w0 = words[0], w1 = words[1], w2 = words[2], w3 = words[3];
  paraes_block b;
  b.w[0] = word_within(w0, w1, n);
  b.w[1] = word_within(w1, w2, n);
  b.w[2] = word_within(w2, w3, n);
  b.w[3] = word_within(w3, high, n);
  return b;
}

// Stores no byte that is not of the block: another thread stores those beside it.
PARAES_INLINE void store_text(PARAES_GLOBAL paraes_u8* to, paraes_block b) {
  const paraes_u32 n = bytes_into_word(to);
  if (n == 0) {
    PARAES_GLOBAL paraes_u32* words = (PARAES_GLOBAL paraes_u32*)to;
    PARAES_UNROLL
    for (int w = 0; w < 4; ++w) words[w] = b.w[w];
    return;
  }
  // 4 - n bytes, three aligned words, and n bytes.
  to[0] = (paraes_u8)b.w[0];
  if (n < 3) to[1] = (paraes_u8)(b.w[0] >> 8);
  if (n < 2) to[2] = (paraes_u8)(b.w[0] >> 16);
  PARAES_GLOBAL paraes_u32* words = (PARAES_GLOBAL paraes_u32*)(to + 4 - n);
  PARAES_UNROLL
  for (int w = 0; w < 3; ++w) words[w] = word_within(b.w[w], b.w[w + 1], 4 - n);
  if (n > 2) to[13] = (paraes_u8)(b.w[3] >> 8);
  if (n > 1) to[14] = (paraes_u8)(b.w[3] >> 16);
  to[15] = (paraes_u8)(b.w[3] >> 24);
}

PARAES_INLINE void store_text_word(PARAES_GLOBAL paraes_u8* to, paraes_u32 word) {
  if (bytes_into_word(to) == 0) {
    *(PARAES_GLOBAL paraes_u32*)to = word;
    return;
  }
  for (paraes_u32 i = 0; i < 4; ++i) to[i] = (paraes_u8)(word >> 8 * i);
}
#else
PARAES_INLINE paraes_u32 load_text_word(PARAES_GLOBAL const paraes_u8* from, int is_last) {
  (void)is_last;
  return *(PARAES_GLOBAL const paraes_u32*)from;
}

PARAES_INLINE paraes_block load_text(PARAES_GLOBAL const paraes_u8* from, int is_last) {
  (void)is_last;
  return load_block(from);
}

PARAES_INLINE void store_text(PARAES_GLOBAL paraes_u8* to, paraes_block b) { store_block(to, b); }

PARAES_INLINE void store_text_word(PARAES_GLOBAL paraes_u8* to, paraes_u32 word) {
  *(PARAES_GLOBAL paraes_u32*)to = word;
}
#endif

// Tags may begin anywhere in all programs. Mostly they are aligned to words.
PARAES_INLINE paraes_block load_tag(PARAES_GLOBAL const paraes_u8* from) {
  if (bytes_into_word(from) != 0) return load_part(from, 16);
  paraes_block b;
  PARAES_UNROLL
  for (int w = 0; w < 4; ++w) b.w[w] = ((PARAES_GLOBAL const paraes_u32*)from)[w];
  return b;
}

PARAES_INLINE void store_tag(PARAES_GLOBAL paraes_u8* to, paraes_block b) {
  if (bytes_into_word(to) != 0) {
    store_part(to, b, 16);
    return;
  }
  PARAES_UNROLL
  for (int w = 0; w < 4; ++w) ((PARAES_GLOBAL paraes_u32*)to)[w] = b.w[w];
}
