// Sizes that host and GPU programs share, as macros that both compile. Programs are built with -D
// flags for these:
//
//   PARAES_BLOCKS_PER_THREAD       most blocks of a tile per thread
//   PARAES_BATCH                   how many of these are in flight at once
//   PARAES_SINGLES                 how many single blocks, each under its own key, are in flight
//
// Each program's values are in src/gpu/programs/gpu_kernels.cpp. These have defaults, which flags
// may override:
//
//   PARAES_GROUP_THREADS           threads of a group, a multiple of 32
//   PARAES_HASH_THREADS            threads of a group of `ghash`, `ghash_prepare`, `ghash_join` and
//                                  `gcm_finish`, a power of two, at least 128
//   PARAES_GROUPS_PER_UNIT         groups that must fit into a multiprocessor at once; limits the
//                                  registers of entries that work on tiles
//   PARAES_HASH_GROUPS_PER_UNIT    the same for `ghash`: PARAES_HASH_GROUPS_OF_SUMS where it adds
//                                  products (ghash_sums.cl), otherwise PARAES_HASH_GROUPS; of
//                                  `ghash_tensor`, PARAES_HASH_GROUPS_OF_TENSORS
//   PARAES_HASH_TERMS              products that are reduced at once: see ghash_sums.cl
//   PARAES_KEYS_IN_MEMORY          1: `keys` holds the keys of the messages; 0, only on CUDA: all
//                                  messages use the argument `single`
//   PARAES_ANY_ADDRESS             1: texts may begin at any byte, see texts.h; else they begin
//                                  at multiples of 16
//   PARAES_COMPACT                 1 on OpenCL devices that are CPUs, see dialect.h
//   PARAES_TABLES                  ttable: how many of the four tables are stored, 1, 2 or 4
//   PARAES_HASH_TENSOR             defined, only on CUDA: see ghash_tensor.cl
//   PARAES_HASH_COPIES             ttable, ttable-simple: copies of the GHASH tables, 1, 2, 4 or 8
#ifndef PARAES_GPU_DEVICE_SIZES_H
#define PARAES_GPU_DEVICE_SIZES_H

#define PARAES_HASH_GROUPS 3
#define PARAES_HASH_GROUPS_OF_SUMS 2
#define PARAES_HASH_GROUPS_OF_TENSORS 4

#ifndef PARAES_HASH_TERMS
#define PARAES_HASH_TERMS 8
#endif

// XTS: a stretch is this many consecutive blocks of a unit, which share one stored tweak of 4
// words. A unit has PARAES_STRETCHES(unit_blocks) stretches.
#define PARAES_STRETCH_BLOCKS 32u
#define PARAES_STRETCHES(unit_blocks) (((unit_blocks) + 31u) / 32u)

// Words of a sliced key: 15 round keys of 128 planes for encryption, 15 for decryption, and the
// first two round keys of encryption unsliced, as eight words.
#define PARAES_SLICED_ROUNDS_WORDS 1920u
#define PARAES_SLICED_KEY_WORDS 3848u

// Words of a hash key: the powers H, H^2, … up to the exponent PARAES_HASH_THREADS.
#define PARAES_HASH_KEY_WORDS(hash_threads) (4u * (hash_threads))

// Shared memory in bytes. For the entries that work on tiles, which are those of modes.cl:
#define PARAES_REFERENCE_SHARED_BYTES 0u
#define PARAES_REFERENCE_SHARED_SHARED_BYTES(group_threads) (16u * (group_threads))
#define PARAES_TTABLE_SIMPLE_SHARED_BYTES 4352u
#define PARAES_TTABLE_SHARED_BYTES(tables) (32768u * (tables))
#define PARAES_BITSLICE_SHARED_BYTES(group_threads) (16u * (group_threads))
// For ghash_prepare, ghash_join and gcm_finish:
#define PARAES_HASH_SHARED_BYTES(hash_threads) (16u * (hash_threads))
// For ghash in programs without GHASH tables: the sums, and nine words in parts of each factor.
#define PARAES_HASH_SUMS_SHARED_BYTES(hash_threads) \
  (16u * (hash_threads) + 288u * PARAES_HASH_TERMS)
// For ghash in ttable-simple and ttable: the tables, and their basis or the sums.
#define PARAES_HASH_TABLES_SHARED_BYTES(hash_threads, copies) \
  (8192u * (copies) + 16u * (hash_threads))
// For ghash_tensor: products or sums, and two matrices.
#define PARAES_HASH_TENSOR_SHARED_BYTES 8192u
// xts_stretches, expand_keys and slice_keys need none.

// Where the GHASH tables lie, in units of 16 bytes: a copy of an entry, where entry 2 b + i is that
// of byte b in table i, and which copy a thread reads. Eight threads access 128 bytes at once, and
// conflict where two of them access different units that are equal modulo 8.
#define PARAES_HASH_UNIT(entry, copy, copies) ((copies) * (entry) + (copy))
#define PARAES_HASH_COPY_READ(thread, copies) ((thread) % (copies))
// Which copy of its entry a thread writes in step `step` < copies: consecutive threads write
// consecutive entries, and begin with different copies to write to different banks.
#define PARAES_HASH_COPY_WRITTEN(thread, step, copies) \
  (((step) + (thread) * (copies) / 8u) % (copies))

#endif
