// Structures that host and GPU share: the messages of a launch, and expanded keys. NVRTC, hipRTC,
// OpenCL C and C++ all compile this file; dialect.h or the includer defines paraes_u32 and
// paraes_u64. All numbers are little-endian, and all bytes are in memory order.
#ifndef PARAES_GPU_DEVICE_JOB_H
#define PARAES_GPU_DEVICE_JOB_H

// One text under one key. A launch works on the tiles of all its messages: those of a message begin
// at its first_tile and end before the first_tile of the next message. All tiles of a launch have
// the same number of blocks, but the last one of a message may have fewer.
typedef struct {
  paraes_u64 in;          // offset of the text in the input, in bytes; where it then lies is a
                          // multiple of 16, but in programs with PARAES_ANY_ADDRESS
  paraes_u64 out;         // offset of the text in the output, likewise
  paraes_u64 bytes;       // ECB, CBC and XTS: a multiple of 16
  paraes_u64 first_tile;  // number of tiles of all earlier messages
  paraes_u32 key;         // index of the key
  paraes_u32 flags;       // GCM: those below
  // CTR: the counter of the first block. CBC: the block before the first. XTS: the number of the
  // first data unit. GCM: J0.
  paraes_u32 iv[4];
  paraes_u64 tag;  // GCM: offset of the tag in the output, in bytes; a multiple of 4
} paraes_message;  // 64 bytes

// GHASH covers only the text, padded with zeros to whole blocks; the hash, 16 bytes, goes to `tag`.
// Without this flag GHASH also covers the length block (there is no associated data), the tag mask
// is added, and the full tag of 16 bytes goes to `tag`.
#define PARAES_HASH_PARTIAL 1u
// GHASH reads the input instead of the output: for decryption.
#define PARAES_HASH_INPUT 2u
// J0 is a hash under the hash key, which it would reveal: no branch of a constant-time kernel may
// depend on the counter.
#define PARAES_SECRET_COUNTER 4u
// With PARAES_HASH_PARTIAL: the hash goes to scratch instead of the output.
#define PARAES_HASH_TO_SCRATCH 8u

// The end of a GCM message whose text is hashed in ranges, which are messages of the launch.
typedef struct {
  paraes_u64 text;          // offset of the text in the output, in bytes
  paraes_u64 bytes;         // of the text
  paraes_u64 tag;           // offset of the tag: in the output, or if `opens` is set, in the input
  paraes_u32 first;         // number of its first range
  paraes_u32 ranges;        // how many it has; none if the text is empty
  paraes_u32 range_blocks;  // blocks of each range but the first, which may have fewer
  paraes_u32 key;           // index of the key
  paraes_u32 opens;         // 1: checks the tag; 0: writes it
  paraes_u32 unused;
  paraes_u32 addend[4];  // what the associated data adds to the tag
} paraes_gcm_end;        // 64 bytes

// An expanded key (FIPS 197 section 5.2): 4 words per round key, in memory order. `decrypt` holds
// the round keys of the equivalent inverse cipher (section 5.3.5) in the order in which it uses
// them.
typedef struct {
  paraes_u32 encrypt[60];
  paraes_u32 decrypt[60];
} paraes_schedule;

#endif
