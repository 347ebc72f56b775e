// The numbers that host and GPU programs share, as macros of C that both compile. A program's own
// -D flags are in src/gpu/programs/kernel_rows.cpp; the host may override those marked with * by
// flags of its own.
//
//   PARAES_GROUP_THREADS *      threads of a group, a multiple of 32
//   PARAES_HASH_THREADS *       threads of a group of `ghash` and `ghash_prepare`: a power of two,
//   128
//                               or more
//   PARAES_GROUPS_PER_UNIT *    groups that must fit into a multiprocessor at once, which bounds
//   the
//                               registers of the entries that work on tiles
//   PARAES_HASH_GROUPS_PER_UNIT *   the same for `ghash`
//   PARAES_MANY_KEYS *          1: `keys` has a schedule for each key; 0: all messages use `single`
//   PARAES_COMPACT *            1 on OpenCL devices that are CPUs, see dialect.h
//   PARAES_TABLES *             ttable: how many of its four tables are stored, 1, 2 or 4
//   PARAES_HASH_COPIES *        ttable*: copies of GHASH's tables, 1, 2, 4 or 8
//   PARAES_BLOCKS_PER_THREAD    blocks that a thread has of a full tile
//   PARAES_BATCH                of these, how many are in flight at once
#ifndef PARAES_GPU_DEVICE_SIZES_H
#define PARAES_GPU_DEVICE_SIZES_H

// A row of 32 threads works on one tile at a time.
#define PARAES_TILE_BLOCKS(blocks_per_thread) (32u * (blocks_per_thread))

// XTS: consecutive blocks of a unit that share one entry of the stretch tweaks. A unit has
// PARAES_STRETCHES(unit_blocks) entries, of 4 words each.
#define PARAES_STRETCH_BLOCKS 32u
#define PARAES_STRETCHES(unit_blocks) (((unit_blocks) + 31u) / 32u)

// Words of a sliced key: 15 round keys of 128 planes to encrypt, as many to decrypt, and the first
// two round keys once more as eight words.
#define PARAES_SLICED_ROUNDS_WORDS 1920u
#define PARAES_SLICED_KEY_WORDS 3848u

// Words of a hash key: H, H^2, … up to the power PARAES_HASH_THREADS.
#define PARAES_HASH_KEY_WORDS(hash_threads) (4u * (hash_threads))

// Shared memory in bytes. The entries that work on tiles (ecb_… to gcm_ctr, without xts_stretches):
#define PARAES_REFERENCE_SHARED_BYTES 0u
#define PARAES_REFERENCE_SHARED_SHARED_BYTES(group_threads) (16u * (group_threads))
#define PARAES_TTABLE_SIMPLE_SHARED_BYTES 4352u
#define PARAES_TTABLE_SHARED_BYTES(tables) (32768u * (tables))
#define PARAES_BITSLICE_SHARED_BYTES 0u
// ghash_prepare, and ghash of the programs without tables for it:
#define PARAES_HASH_SHARED_BYTES(hash_threads) (16u * (hash_threads))
// ghash of ttable-simple and ttable: the tables and their basis, or the sums.
#define PARAES_HASH_TABLES_SHARED_BYTES(hash_threads, copies) \
  (8192u * (copies) + 16u * (hash_threads))
// xts_stretches, expand_keys and slice_keys need none.

#endif
