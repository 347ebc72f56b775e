// GHASH by the binary matrix products of NVIDIA's tensor cores (PTX ISA: mma.m16n8k256 with .b1
// operands and .and.popc, sm_80 to sm_90), in constant time and without tables. All 32 threads of a
// warp work on one message. If messages have 16 lanes, a warp has two of them: it does one after
// the other, and then their last multiplications at the same time, with 16 threads each.
//
// A product by a power of H is linear over the bits of a block, so a matrix of 128 x 128 bits. One
// instruction multiplies 16 rows of 256 bits, here two blocks of each of 16 streams, by 8 columns
// of 256 bits, here 8 rows of two such matrices, and adds up the ones of each sum: its parity is a
// bit of the result. 16 instructions make all 128 bits of 16 blocks.
//
// Lane 4 g + w has word w of the blocks of streams g and g + 8: of the operands, and, since the
// columns are in the right order, of the results, so no data moves between lanes.
//
// Step s takes the blocks from 32 s on, of a message that is extended at its front by `pad` blocks
// of zeros: stream r takes blocks r and 16 + r of the step. With its sum z, it becomes
// (z + x_r) H^32 + x_(16 + r) H^16, and in the last step (z + x_r) H^16 + x_(16 + r). The sum of
// stream r then lacks the factor H^(16 - r).
#ifdef PARAES_HASH_TENSOR

#define PARAES_TENSOR_MATRIX_WORDS 512  // four for each bit of the result
#define PARAES_TENSOR_PRODUCTS 256
#define PARAES_TENSOR_MATRICES(job) ((job)->shared + 4 * PARAES_TENSOR_PRODUCTS)
#if PARAES_HASH_THREADS > PARAES_TENSOR_PRODUCTS
#error "the sums would overlap the matrices"
#endif

// A lane gets 32 counts for a word, from the first instruction to the last. No count exceeds 256,
// so that counts nine bits apart do not meet in a sum, and one mask takes all their parities: first
// four sums of three counts, for bits 26, 17 and 8, then 25, 16 and 7, …, then five sums of four,
// for bits 31, 22, 13 and 4, then 30, 21, 12 and 3, …. Of the highest count of four only the lowest
// bits are left, which is enough. This is the bit of each count.
PARAES_INLINE paraes_u32 tensor_bit(paraes_u32 count) {
  return count < 12 ? 8 - count / 3 + 9 * (2 - count % 3)
                    : 4 - (count - 12) / 4 + 9 * (3 - count % 4);
}

// Column 2 c + i of instruction q computes a bit of word c: then lane 4 g + c gets all bits of it.
PARAES_INLINE paraes_u32 tensor_row(paraes_u32 column, paraes_u32 q) {
  return 32 * (column / 2) + tensor_bit(2 * q + column % 2);
}

// Makes the matrices of two powers in shared memory. All threads of the group call this.
PARAES_INLINE void build_matrices(const paraes_job* job, gf128 by32, gf128 by16) {
  PARAES_SHARED paraes_u32* products = job->shared;
  PARAES_SHARED paraes_u32* matrices = PARAES_TENSOR_MATRICES(job);
  for (paraes_u32 i = job->thread; i < PARAES_TENSOR_PRODUCTS; i += PARAES_HASH_THREADS) {
    // Bit 7 of a byte has the lowest power of x.
    gf128 product = i < 128 ? by32 : by16;
    for (paraes_u32 n = i % 128 / 8 * 8 + 7 - i % 8; n != 0;) {
      const paraes_u32 step = n < 31 ? n : 31;
      product = gf128_times_power(product, step);
      n -= step;
    }
    share(products + 4 * i, block_of_gf128(product));
  }
  PARAES_BARRIER();
  for (paraes_u32 i = job->thread; i < 2 * PARAES_TENSOR_MATRIX_WORDS; i += PARAES_HASH_THREADS) {
    const paraes_u32 lane = i / 4 % 32;
    const paraes_u32 row = tensor_row(lane / 4, i / 128 * 2 + i % 4 / 2);
    PARAES_SHARED const paraes_u32* from =
        products + 4 * (i % 2 * 128 + 32 * (lane % 4)) + row / 32;
    paraes_u32 word = 0;
    for (paraes_u32 bit = 0; bit < 32; ++bit) word |= (from[4 * bit] >> row % 32 & 1) << bit;
    matrices[i] = word;
  }
  PARAES_BARRIER();
}

// d = the ones of a AND b, for rows g and g + 8, columns 2 w and 2 w + 1.
PARAES_INLINE void binary_product(paraes_u32* d, const paraes_u32* a, paraes_u32 b0,
                                  paraes_u32 b1) {
  asm("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc"
      " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"
      : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "r"(0));
}

typedef struct {
  paraes_u32 sum;   // of up to four counts
  paraes_u32 word;  // the parities of those before
} tensor_parities;

// Count n of a word. The factor, 2^9, is hidden from the compiler, which would shift instead: the
// logic unit is busier than the multipliers.
PARAES_INLINE void add_count(tensor_parities* p, paraes_u32 count, const int n, paraes_u32 factor) {
  const int first = n < 12 ? n % 3 == 0 : n % 4 == 0;
  p->sum = first ? count : p->sum * factor + count;
  if (n < 12 && n % 3 == 2) p->word = p->word << 1 | (p->sum & 0x00040201);
  if (n >= 12 && n % 4 == 3) p->word = p->word << 1 | (p->sum & 0x08040201);
}

// One step: a[0] and a[1] are words of the first blocks of streams g and g + 8, a[2] and a[3] those
// of their second blocks. z receives the words of the results.
PARAES_INLINE void tensor_step(PARAES_SHARED const paraes_u32* columns, const paraes_u32* a,
                               paraes_u32* z, paraes_u32 lane, const int last) {
  const paraes_u32 factor = (paraes_u32)paraes_anew(1 << 9);
  tensor_parities low = {0, 0}, high = {0, 0};
  PARAES_UNROLL
  for (int q = 0; q < 16; ++q) {
    paraes_u32 d[4];
    const paraes_block two = shared_block(columns + 128 * (q / 2));
    const paraes_u32 by32 = two.w[q % 2 * 2], by16 = two.w[q % 2 * 2 + 1];
    // In the last step, the second matrix is that of one.
    const paraes_u32 one =
        lane % 4 == lane / 8 ? 1u << tensor_bit(2 * (paraes_u32)q + lane / 4 % 2) : 0;
    binary_product(d, a, last ? by16 : by32, last ? one : by16);
    add_count(&low, d[0], 2 * q, factor);
    add_count(&low, d[1], 2 * q + 1, factor);
    add_count(&high, d[2], 2 * q, factor);
    add_count(&high, d[3], 2 * q + 1, factor);
  }
  z[0] = low.word;
  z[1] = high.word;
}

// Word w of block i, which may be beyond the text or, as a negative number, before it.
PARAES_INLINE paraes_u32 hash_word(PARAES_GLOBAL const paraes_u8* text, paraes_u64 bytes,
                                   paraes_u64 n, paraes_u64 i, paraes_u32 w) {
  if (i < bytes / 16) return load_text_word(text + 16 * i + 4 * w, i + 1 == bytes / 16 && w == 3);
  if (i >= n) return 0;
  const paraes_block b = hash_input(text, bytes, i);
  return w < 2 ? (w == 0 ? b.w[0] : b.w[1]) : (w == 2 ? b.w[2] : b.w[3]);
}

// Leaves the sum of stream r of a message in the 16 bytes from `sums` + 4 r on.
PARAES_INLINE void tensor_hash(const paraes_job* job, paraes_u32 m, paraes_u32 lane,
                               PARAES_SHARED paraes_u32* sums) {
  PARAES_GLOBAL const paraes_message* message = job->messages + m;
  PARAES_GLOBAL const paraes_u8* text = hashed_text(job, message);
  const paraes_u64 bytes = message->bytes, n = hash_blocks(message);
  PARAES_SHARED const paraes_u32* columns = PARAES_TENSOR_MATRICES(job) + 4 * lane;
  const paraes_u32 w = lane % 4;
  const paraes_u32 steps = (paraes_u32)((n + 31) / 32);
  paraes_u64 i = lane / 4 + n - 32 * (paraes_u64)steps;  // less than 0 for blocks before the text
  paraes_u32 z[2] = {0, 0};
  paraes_u32 next[4];
  PARAES_UNROLL
  for (int k = 0; k < 4; ++k) next[k] = hash_word(text, bytes, n, i + 8 * k, w);
  // The blocks of a step are on their way while the tensor cores do the one before. All steps but
  // the first and the last have whole blocks, without a branch for which the loads would have to
  // end.
  if (steps > 1) {
    PARAES_GLOBAL const paraes_u8* from = text + 16 * (i + 32) + 4 * w;
    for (paraes_u32 left = steps - 2; left != 0; --left) {
      const paraes_u32 a[4] = {next[0] ^ z[0], next[1] ^ z[1], next[2], next[3]};
      PARAES_UNROLL
      for (int k = 0; k < 4; ++k) next[k] = load_text_word(from + 128 * k, 0);
      from += 512;
      tensor_step(columns, a, z, lane, 0);
    }
    const paraes_u32 a[4] = {next[0] ^ z[0], next[1] ^ z[1], next[2], next[3]};
    i = lane / 4 + n - 32;
    PARAES_UNROLL
    for (int k = 0; k < 4; ++k) next[k] = hash_word(text, bytes, n, i + 8 * k, w);
    tensor_step(columns, a, z, lane, 0);
  }
  next[0] ^= z[0];
  next[1] ^= z[1];
  tensor_step(columns, next, z, lane, 1);
  sums[4 * (lane / 4) + w] = z[0];
  sums[4 * (lane / 4 + 8) + w] = z[1];
}
#endif
