// What host and GPU agree on: the messages of one launch, their keys and the arguments of every
// kernel. C that NVRTC, hipRTC, OpenCL C and C++ all accept; dialect.h or the includer defines
// paraes_u32 and paraes_u64. All numbers are little-endian, and all bytes are in the order of
// memory.
#ifndef PARAES_GPU_DEVICE_JOB_H
#define PARAES_GPU_DEVICE_JOB_H

// One text under one key. A launch works on the tiles of all its messages: message m has the tiles
// from first_tile[m] to first_tile[m + 1], each of 32 × PARAES_BLOCKS_PER_THREAD blocks but for the
// last, and a row of 32 threads works on a tile.
typedef struct {
  paraes_u64 in;          // where the text begins in the input, in bytes; a multiple of 16
  paraes_u64 out;         // the same in the output
  paraes_u64 bytes;       // ECB, CBC and XTS: a multiple of 16
  paraes_u64 first_tile;  // how many tiles the messages before this one have
  paraes_u32 key;         // which key
  paraes_u32 flags;       // PARAES_HASH_…
  // CTR: the counter of the first block. CBC: the block before the first. XTS: the number of the
  // first data unit. GCM: J0.
  paraes_u32 iv[4];
  paraes_u64 tag;  // GCM: where the tag goes in the output, in bytes; a multiple of 4
} paraes_message;  // 64 bytes

// GHASH starts from zero and stops after the last block of the text, which it takes as a whole one:
// 16 bytes go to `tag`. Without this flag the length block follows (no associated data), and the
// tag mask is added: 16 bytes of a full tag go to `tag`.
#define PARAES_HASH_PARTIAL 1u
// GHASH is of the input, not of the output: decryption.
#define PARAES_HASH_INPUT 2u

// An expanded key (FIPS 197 section 5.2), as 4 words a round key, with the words in the order of
// memory. `decrypt` is that of the equivalent inverse cipher (section 5.3.5), first to be used
// first.
typedef struct {
  paraes_u32 encrypt[60];
  paraes_u32 decrypt[60];
} paraes_schedule;

#endif
