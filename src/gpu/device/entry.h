// The parameters that all entries share, and helpers for blocks and keys.
//
//   scratch, keys            aligned to 16 bytes
//   in, out                  aligned to 16 bytes, as texts are, unless PARAES_ANY_ADDRESS is 1 (see
//                            texts.h); except for CBC, `out` may be `in` if every message has the
//                            same offset in both
//   messages, count          the messages of the launch, as in job.h
//   tiles                    the number of their tiles; for xts_stretches, the number of stretches;
//                            for ghash, where its hashes begin in scratch; for ghash_join and
//                            gcm_finish, the number of ranges; for copy_words, the number of words
//   keys                     with PARAES_KEYS_IN_MEMORY, the keys of the messages: sliced keys with
//                            PARAES_KEYS_SLICED, otherwise schedules (paraes_schedule); for
//                            ghash_prepare, gcm_masks and xts_few_unit_tweaks, always schedules;
//                            for ghash, ghash_join and gcm_finish, hash keys
//   scratch                  gcm_masks writes and ghash reads tag masks, 4 words per message;
//                            ghash_prepare writes hash keys; xts_unit_tweaks writes unit tweaks, 4
//                            words each; xts_encrypt and xts_decrypt read stretch tweaks, 4 words
//                            each; for ghash_join and gcm_finish, see gcm_finish.cl
//   unit_blocks              XTS: blocks per data unit
//   tile_blocks              blocks of a tile, a power of two. 32 threads work on one, each on at
//                            most PARAES_BLOCKS_PER_THREAD of its blocks. With PARAES_KEYS_SLICED
//                            always on that many, so fewer threads work on narrow tiles. For ghash,
//                            how many threads hash a message: all of a group, or 8, 16 or 32
//   rounds                   10, 12 or 14
//   single                   only without PARAES_KEYS_IN_MEMORY: the key of all messages
//
// Results do not depend on the number of groups. For ghash_prepare, expand_keys and slice_keys,
// `count` is the number of keys, and they and copy_words read no messages.

#ifndef PARAES_GROUP_THREADS
#define PARAES_GROUP_THREADS 256
#endif
#ifndef PARAES_HASH_THREADS
#define PARAES_HASH_THREADS 256
#endif
#ifndef PARAES_GROUPS_PER_UNIT
#define PARAES_GROUPS_PER_UNIT 1
#endif
#ifndef PARAES_KEYS_IN_MEMORY
#define PARAES_KEYS_IN_MEMORY 0
#endif
#ifndef PARAES_ANY_ADDRESS
#define PARAES_ANY_ADDRESS 0
#endif
#ifndef PARAES_HASH_COPIES
#ifdef PARAES_OPENCL
#define PARAES_HASH_COPIES 1
#else
#define PARAES_HASH_COPIES 8
#endif
#endif

// The address space of round keys. CUDA keeps `single`, an argument passed by value, in constant
// memory. Compilers for AMD would copy it to the slow memory of each thread.
#if PARAES_KEYS_IN_MEMORY
#define PARAES_KEY_SPACE PARAES_GLOBAL
#else
#define PARAES_KEY_SPACE
#if !defined(PARAES_CUDA) || defined(PARAES_KEYS_SLICED)
#error "this program needs -DPARAES_KEYS_IN_MEMORY=1"
#endif
#endif

typedef struct {
  PARAES_GLOBAL const paraes_u8* in;
  PARAES_GLOBAL paraes_u8* out;
  PARAES_GLOBAL paraes_message* messages;
  paraes_u32 count;
  paraes_u64 tiles;
  PARAES_GLOBAL const paraes_u32* keys;
  PARAES_GLOBAL paraes_u32* scratch;
  paraes_u32 unit_blocks;
  paraes_u32 tile_blocks;
  paraes_u32 rounds;
#if !PARAES_KEYS_IN_MEMORY
  const paraes_schedule* single;
#endif
  PARAES_SHARED paraes_u32* shared;
  paraes_u32 threads;  // of a group
  paraes_u32 thread;   // in its group
  paraes_u32 group;
  paraes_u32 groups;
} paraes_job;

#define PARAES_PARAMETERS                                                         \
  PARAES_GLOBAL const paraes_u8 *in, PARAES_GLOBAL paraes_u8 *out,                \
      PARAES_GLOBAL paraes_message *messages, paraes_u32 count, paraes_u64 tiles, \
      PARAES_GLOBAL const paraes_u32 *keys, PARAES_GLOBAL paraes_u32 *scratch,    \
      paraes_u32 unit_blocks, paraes_u32 tile_blocks, paraes_u32 rounds PARAES_KEY_PARAMETER

#if PARAES_KEYS_IN_MEMORY
#define PARAES_KEY_PARAMETER
#define PARAES_KEY_ARGUMENT
#else
#define PARAES_KEY_PARAMETER , const __grid_constant__ paraes_schedule single
#define PARAES_KEY_ARGUMENT &single,
#endif

#define PARAES_JOB(shared, threads, thread, group, groups)                            \
  {                                                                                   \
    in, out, messages, count, tiles, keys, scratch, unit_blocks, tile_blocks, rounds, \
        PARAES_KEY_ARGUMENT shared, threads, thread, group, groups                    \
  }

// Declares an entry for groups of `threads` threads; on CUDA, of up to that many. There the
// compiler limits registers so that `groups_per_unit` groups fit into a multiprocessor. The body
// follows the macro and uses `job`.
#if defined(PARAES_OPENCL)
// Shared memory is an argument of blocks: OpenCL aligns it as its type needs, and not more.
#define PARAES_ENTRY(name, threads, groups_per_unit)                                        \
  PARAES_INLINE void name##_text(const paraes_job* job);                                    \
  __kernel __attribute__((reqd_work_group_size(threads, 1, 1))) void name(                  \
      PARAES_PARAMETERS, PARAES_SHARED uint4* shared) {                                     \
    const paraes_job job =                                                                  \
        PARAES_JOB((PARAES_SHARED paraes_u32*)shared, threads, (paraes_u32)get_local_id(0), \
                   (paraes_u32)get_group_id(0), (paraes_u32)get_num_groups(0));             \
    name##_text(&job);                                                                      \
  }                                                                                         \
  PARAES_INLINE void name##_text(const paraes_job* job)
#else
#if defined(PARAES_HIP)
// The second number of HIP's __launch_bounds__ is not one of groups: some releases take it for
// wavefronts per SIMD unit, which this says explicitly. A group of 256 threads has a wavefront of
// 64 threads on each of the four SIMD units of a multiprocessor.
#define PARAES_BOUNDS(threads, groups_per_unit)                 \
  __attribute__((amdgpu_flat_work_group_size(threads, threads), \
                 amdgpu_waves_per_eu(((threads) * (groups_per_unit) + 255) / 256)))
#else
#define PARAES_BOUNDS(threads, groups_per_unit) __launch_bounds__(threads, groups_per_unit)
#endif
#define PARAES_ENTRY(name, threads, groups_per_unit)                                              \
  PARAES_INLINE void name##_text(const paraes_job* job);                                          \
  extern "C" __global__ void PARAES_BOUNDS(threads, groups_per_unit) name(PARAES_PARAMETERS) {    \
    extern __shared__ uint4 paraes_shared_memory[];                                               \
    const paraes_job job = PARAES_JOB((paraes_u32*)paraes_shared_memory, blockDim.x, threadIdx.x, \
                                      blockIdx.x, gridDim.x);                                     \
    name##_text(&job);                                                                            \
  }                                                                                               \
  PARAES_INLINE void name##_text(const paraes_job* job)
#endif

// A block as four words in memory order, which are the columns of the state.
typedef struct {
  paraes_u32 w[4];
} paraes_block;

PARAES_INLINE paraes_block load_block(PARAES_GLOBAL const paraes_u8* from) {
  const uint4 v = *(PARAES_GLOBAL const uint4*)from;
  paraes_block b;
  b.w[0] = v.x;
  b.w[1] = v.y;
  b.w[2] = v.z;
  b.w[3] = v.w;
  return b;
}

PARAES_INLINE void store_block(PARAES_GLOBAL paraes_u8* to, paraes_block b) {
  uint4 v;
  v.x = b.w[0];
  v.y = b.w[1];
  v.z = b.w[2];
  v.w = b.w[3];
  *(PARAES_GLOBAL uint4*)to = v;
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

PARAES_INLINE paraes_block zero_block(void) {
  paraes_block b;
  b.w[0] = b.w[1] = b.w[2] = b.w[3] = 0;
  return b;
}

PARAES_INLINE paraes_block xor_blocks(paraes_block a, paraes_block b) {
  a.w[0] ^= b.w[0];
  a.w[1] ^= b.w[1];
  a.w[2] ^= b.w[2];
  a.w[3] ^= b.w[3];
  return a;
}

// The round keys of key `index`, for `inverse` those of the equivalent inverse cipher.
PARAES_INLINE PARAES_KEY_SPACE const paraes_u32* key_of(const paraes_job* job, paraes_u32 index,
                                                        int inverse) {
#if defined(PARAES_KEYS_SLICED)
  return job->keys + (paraes_u64)PARAES_SLICED_KEY_WORDS * index +
         (inverse ? PARAES_SLICED_ROUNDS_WORDS : 0);
#elif PARAES_KEYS_IN_MEMORY
  return job->keys + (paraes_u64)120 * index + (inverse ? 60 : 0);
#else
  return inverse ? job->single->decrypt : job->single->encrypt;
#endif
}
