// The input of GHASH: the blocks of a message, and the powers of a hash key.

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

// Block i of the input of GHASH: the text, padded with zeros to whole blocks, then the lengths.
PARAES_INLINE paraes_block hash_input(PARAES_GLOBAL const paraes_u8* text, paraes_u64 bytes,
                                      paraes_u64 i) {
  const paraes_u64 whole = bytes / 16;
  const paraes_u32 part = (paraes_u32)bytes % 16;
  if (i < whole) return load_text(text + 16 * i, i + 1 == whole);
  if (i == whole && part != 0) return load_part(text + 16 * i, part);
  paraes_block lengths = zero_block();
  lengths.w[2] = paraes_swap_bytes((paraes_u32)(bytes >> 29));
  lengths.w[3] = paraes_swap_bytes((paraes_u32)(bytes << 3));
  return lengths;
}

// The blocks that GHASH takes of a message.
PARAES_INLINE paraes_u64 hash_blocks(PARAES_GLOBAL const paraes_message* message) {
  return message->bytes / 16 + (message->bytes % 16 != 0 ? 1 : 0) +
         ((message->flags & PARAES_HASH_PARTIAL) != 0 ? 0 : 1);
}

// The text that GHASH reads.
PARAES_INLINE PARAES_GLOBAL const paraes_u8* hashed_text(
    const paraes_job* job, PARAES_GLOBAL const paraes_message* message) {
  const int is_input = (message->flags & PARAES_HASH_INPUT) != 0;
  const paraes_u64 in = message->in, out = message->out;
  return (is_input ? (PARAES_GLOBAL const paraes_u8*)job->in : job->out) + (is_input ? in : out);
}
