// bitslice on 64-bit words: four blocks at a time on any machine.

#include "src/kernels/block_modes.hpp"
#include "src/kernels/ghash_portable.hpp"
#include "src/kernels/shared.hpp"
#include "src/kernels/target.hpp"

namespace paraes::bitslice {
namespace {

using Planes = std::uint64_t;
constexpr std::size_t lanes = 1;

PARAES_INLINE Planes load(const std::uint8_t* p) { return load_le64(p); }
PARAES_INLINE void store(std::uint8_t* p, Planes x) { store_le64(p, x); }
PARAES_INLINE Planes spread(std::uint64_t word) { return word; }
PARAES_INLINE Planes xor3(Planes a, Planes b, Planes c) { return a ^ b ^ c; }
PARAES_INLINE Planes and_xor(Planes a, Planes b, Planes c) { return (a & b) ^ c; }

// Never called: with one lane, counter blocks are written one by one.
[[maybe_unused]] PARAES_INLINE Planes counters(std::uint64_t, std::uint64_t) { return 0; }

template <int N>
PARAES_INLINE Planes rotate_rows(Planes x) {
  return (x >> (16 * N)) | (x << (64 - 16 * N));
}

PARAES_INLINE Planes shift_rows(Planes x) {
  return (x & 0x000000000000ffff) | ((x & 0x00000000fff00000) >> 4) |
         ((x & 0x00000000000f0000) << 12) | ((x & 0x0000ff0000000000) >> 8) |
         ((x & 0x000000ff00000000) << 8) | ((x & 0xf000000000000000) >> 12) |
         ((x & 0x0fff000000000000) << 4);
}

PARAES_INLINE Planes inverse_shift_rows(Planes x) {
  return (x & 0x000000000000ffff) | ((x & 0x000000000fff0000) << 4) |
         ((x & 0x00000000f0000000) >> 12) | ((x & 0x000000ff00000000) << 8) |
         ((x & 0x0000ff0000000000) >> 8) | ((x & 0x000f000000000000) << 12) |
         ((x & 0xfff0000000000000) >> 4);
}

// Moves the low four bytes of `word` to the even bytes of the result.
PARAES_INLINE std::uint64_t spread_bytes(std::uint64_t word) {
  word = (word | (word << 16)) & 0x0000ffff0000ffff;
  return (word | (word << 8)) & 0x00ff00ff00ff00ff;
}

PARAES_INLINE std::uint64_t gather_bytes(std::uint64_t word) {
  word &= 0x00ff00ff00ff00ff;
  word = (word | (word >> 8)) & 0x0000ffff0000ffff;
  return (word | (word >> 16)) & 0x00000000ffffffff;
}

// Interleaves the bytes of the two halves of a block: the even columns of the state go to register
// i and the odd ones to register i + 4, each ordered by rows.
PARAES_INLINE void load_blocks(Planes (&q)[8], const std::uint8_t* in) {
  PARAES_UNROLL
  for (int i = 0; i < 4; ++i) {
    const std::uint64_t low = load_le64(in + 16 * i);
    const std::uint64_t high = load_le64(in + 16 * i + 8);
    q[i] = spread_bytes(low & 0xffffffff) | (spread_bytes(high & 0xffffffff) << 8);
    q[i + 4] = spread_bytes(low >> 32) | (spread_bytes(high >> 32) << 8);
  }
}

PARAES_INLINE void store_blocks(std::uint8_t* out, const Planes (&q)[8]) {
  PARAES_UNROLL
  for (int i = 0; i < 4; ++i) {
    store_le128(out + 16 * i, gather_bytes(q[i]) | (gather_bytes(q[i + 4]) << 32),
                gather_bytes(q[i] >> 8) | (gather_bytes(q[i + 4] >> 8) << 32));
  }
}

#include "src/kernels/bitslice/nibbles.inc"

#include "src/kernels/bitslice/bitslice.inc"

// SubWord of FIPS 197 section 5.2, by the circuit.
std::uint32_t sub_word(std::uint32_t word) {
  Planes q[8] = {word, 0, 0, 0, 0, 0, 0, 0};
  transpose(q);
  sub_bytes(q);
  transpose(q);
  const auto result = static_cast<std::uint32_t>(q[0]) ^ 0x63636363U;
  secure_zero(q, sizeof q);
  return result;
}

}  // namespace

void expand_sliced(KeySchedule& schedule, const std::uint8_t* key, unsigned key_bytes) {
  expand_encryption_key(schedule, key, key_bytes, sub_word);
  for (unsigned round = 0; round <= schedule.rounds; ++round) {
    std::uint8_t copies[16 * batch];
    for (std::size_t i = 0; i < sizeof copies; ++i) {
      // From round 1 on, the round key includes the constant of the SubBytes before it.
      copies[i] =
          static_cast<std::uint8_t>(schedule.encrypt[round][i % 16] ^ (round == 0 ? 0 : 0x63));
    }
    Planes(&q)[8] = schedule.sliced[round];
    load_blocks(q, copies);
    transpose(q);
    secure_zero(copies, sizeof copies);
  }
}

void expand(KeySchedule& schedule, const std::uint8_t* key, unsigned key_bytes) {
  expand_sliced(schedule, key, key_bytes);
}

void cbc_encrypt(const KeySchedule& schedule, std::uint8_t chain[16], const std::uint8_t* in,
                 std::uint8_t* out, std::size_t blocks) {
  // One of the four blocks at a time, because each block needs the one before it.
  std::uint8_t state[16 * batch] = {};
  std::memcpy(state, chain, 16);
  for (; blocks != 0; --blocks, in += 16, out += 16) {
    xor_block(state, state, in);
    cipher_batch<true>(schedule, state, state);
    std::memcpy(out, state, 16);
  }
  std::memcpy(chain, state, 16);
  secure_zero(state, sizeof state);
}

}  // namespace paraes::bitslice

namespace paraes {

constinit const Kernel bitslice_kernel = bitslice::make_kernel(
    "portable", CpuFeatureSet(), bitslice::expand, ghash_portable_init, ghash_portable);

}  // namespace paraes
