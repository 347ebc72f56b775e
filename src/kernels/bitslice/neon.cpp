// bitslice on the 128-bit vectors of AArch64: eight blocks at a time, for cores without AES
// instructions.

#include <arm_neon.h>

#include "src/kernels/block_modes.hpp"
#include "src/kernels/shared.hpp"
#include "src/kernels/target.hpp"

namespace paraes::bitslice_neon {
namespace {

// Byte s has the bits of byte s of the eight states, so that any permutation of a state is one
// table lookup (TBL).
struct Planes {
  uint8x16_t v;
};
constexpr std::size_t batch = 8;

PARAES_INLINE Planes load(const std::uint8_t* p) { return {vld1q_u8(p)}; }
PARAES_INLINE void store(std::uint8_t* p, Planes x) { vst1q_u8(p, x.v); }
PARAES_INLINE Planes operator^(Planes a, Planes b) { return {veorq_u8(a.v, b.v)}; }
PARAES_INLINE Planes operator&(Planes a, Planes b) { return {vandq_u8(a.v, b.v)}; }
PARAES_INLINE Planes xor3(Planes a, Planes b, Planes c) { return a ^ b ^ c; }
PARAES_INLINE Planes and_xor(Planes a, Planes b, Planes c) { return (a & b) ^ c; }

PARAES_INLINE Planes counters(std::uint64_t high, std::uint64_t low) {
  const uint64x2_t words = vcombine_u64(vcreate_u64(high), vcreate_u64(low));
  return {vrev64q_u8(vreinterpretq_u8_u64(words))};
}

template <int N>
PARAES_INLINE Planes rotate_rows(Planes x) {
  static_assert(N == 1 || N == 2);
  if constexpr (N == 2) {
    return {vreinterpretq_u8_u16(vrev32q_u16(vreinterpretq_u16_u8(x.v)))};
  }
  const uint8x16_t order = {1, 2, 3, 0, 5, 6, 7, 4, 9, 10, 11, 8, 13, 14, 15, 12};
  return {vqtbl1q_u8(x.v, order)};
}

PARAES_INLINE Planes shift_rows(Planes x) {
  const uint8x16_t order = {0, 5, 10, 15, 4, 9, 14, 3, 8, 13, 2, 7, 12, 1, 6, 11};
  return {vqtbl1q_u8(x.v, order)};
}

PARAES_INLINE Planes inverse_shift_rows(Planes x) {
  const uint8x16_t order = {0, 13, 10, 7, 4, 1, 14, 11, 8, 5, 2, 15, 12, 9, 6, 3};
  return {vqtbl1q_u8(x.v, order)};
}

// A shift and a selection for each of the two: fewer instructions than with XOR.
template <int N>
PARAES_INLINE void exchange(Planes& a, Planes& b, std::uint64_t mask) {
  const uint8x16_t low = vreinterpretq_u8_u64(vdupq_n_u64(mask));
  const uint8x16_t from_a = vshrq_n_u8(a.v, N);
  const uint8x16_t from_b = vshlq_n_u8(b.v, N);
  b.v = vbslq_u8(low, from_a, b.v);
  a.v = vbslq_u8(low, a.v, from_b);
}

PARAES_INLINE Planes key_plane(const KeySchedule& schedule, unsigned round, int b) {
  return load(schedule.byte_planes[round][b]);
}

PARAES_INLINE void load_blocks(Planes (&q)[8], const std::uint8_t* in) {
  PARAES_UNROLL
  for (int i = 0; i < 8; ++i) q[i] = load(in + 16 * i);
}

PARAES_INLINE void store_blocks(std::uint8_t* out, const Planes (&q)[8]) {
  PARAES_UNROLL
  for (int i = 0; i < 8; ++i) store(out + 16 * i, q[i]);
}

#include "src/kernels/bitslice/bitslice.inc"

void expand(KeySchedule& schedule, const std::uint8_t* key, unsigned key_bytes) {
  bitslice::expand_sliced(schedule, key, key_bytes);
  for (unsigned round = 0; round <= schedule.rounds; ++round) {
    // From round 1 on, the round key includes the constant of the SubBytes before it.
    const Planes constant{vdupq_n_u8(round == 0 ? 0 : 0x63)};
    const Planes copy = load(schedule.encrypt[round]) ^ constant;
    Planes q[8] = {copy, copy, copy, copy, copy, copy, copy, copy};
    transpose(q);
    store_blocks(schedule.byte_planes[round][0], q);
  }
}

}  // namespace
}  // namespace paraes::bitslice_neon

namespace paraes {

constinit const Kernel bitslice_neon_kernel = bitslice_neon::make_kernel(
    "neon", CpuFeatureSet(CpuFeature::asimd), bitslice_neon::expand, ghash_p8_init, ghash_p8);

}  // namespace paraes
