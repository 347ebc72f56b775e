// VAES and VPCLMULQDQ on 256-bit registers, for machines without AVX-512.

#include <immintrin.h>

#include "src/core/counter.hpp"
#include "src/kernels/shared.hpp"
#include "src/kernels/target.hpp"

PARAES_TARGET_BEGIN("avx2,aes,pclmul,vaes,vpclmulqdq")

namespace paraes::vaes256 {
namespace {

#include "src/kernels/x86/block.inc"

constexpr int registers = 16;

struct Vec {
  static constexpr std::size_t lanes = 2;
  __m256i v;
};

PARAES_INLINE Vec load(const std::uint8_t* p) {
  return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))};
}
PARAES_INLINE void store(std::uint8_t* p, Vec a) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), a.v);
}
PARAES_INLINE void store_nontemporal(std::uint8_t* p, Vec a) {
  _mm256_stream_si256(reinterpret_cast<__m256i*>(p), a.v);
}
PARAES_INLINE void store_blocks_nontemporal(std::uint8_t* p, Vec a) {
  auto* const blocks = reinterpret_cast<__m128i*>(p);
  _mm_stream_si128(blocks, _mm256_castsi256_si128(a.v));
  _mm_stream_si128(blocks + 1, _mm256_extracti128_si256(a.v, 1));
}
PARAES_INLINE void fence_nontemporal() { _mm_sfence(); }
PARAES_INLINE void clear_upper_halves() { _mm256_zeroupper(); }
// A partial vector of two lanes has one block.
PARAES_INLINE Vec load_partial(const std::uint8_t* p, std::size_t) {
  return {_mm256_zextsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))};
}
PARAES_INLINE void store_partial(std::uint8_t* p, Vec a, std::size_t) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_castsi256_si128(a.v));
}
PARAES_INLINE Vec join(Block low, Block high) { return {_mm256_set_m128i(high.v, low.v)}; }
PARAES_INLINE Vec load_last(const std::uint8_t* end, std::size_t blocks) {
  return blocks == 2 ? load(end - 32) : load_partial(end - 16, 1);
}
PARAES_INLINE Vec load_bytes(const std::uint8_t* p, std::size_t bytes) {
  if (bytes == 32) return load(p);
  if (bytes < 16) return {_mm256_zextsi128_si256(load_ragged(p, bytes).v)};
  return join(load_block(p), load_ragged(p + 16, bytes - 16));
}
PARAES_INLINE void store_bytes(std::uint8_t* p, Vec a, std::size_t bytes) {
  if (bytes == 32) return store(p, a);
  const Block low{_mm256_castsi256_si128(a.v)};
  if (bytes < 16) return store_ragged(p, low, bytes);
  store_block(p, low);
  store_ragged(p + 16, {_mm256_extracti128_si256(a.v, 1)}, bytes - 16);
}
PARAES_INLINE Vec first_bytes(Vec a, std::size_t bytes) {
  const Vec mask = bytes < 16 ? join(block_mask(bytes), block_of_word(0))
                              : join(block_mask(16), block_mask(bytes - 16));
  return {_mm256_and_si256(a.v, mask.v)};
}
PARAES_INLINE Vec put_lane(Vec a, std::size_t lane, Block b) {
  const __m256i lanes = _mm256_set_epi64x(1, 1, 0, 0);
  const __m256i mask = _mm256_cmpeq_epi64(lanes, _mm256_set1_epi64x(static_cast<long long>(lane)));
  return {_mm256_blendv_epi8(a.v, _mm256_broadcastsi128_si256(b.v), mask)};
}
PARAES_INLINE Block get_lane(Vec a, std::size_t lane) {
  return {lane == 0 ? _mm256_castsi256_si128(a.v) : _mm256_extracti128_si256(a.v, 1)};
}
PARAES_INLINE void get_lanes(Vec a, Block (&blocks)[Vec::lanes]) {
  blocks[0] = {_mm256_castsi256_si128(a.v)};
  blocks[1] = {_mm256_extracti128_si256(a.v, 1)};
}
PARAES_INLINE Vec broadcast(Block a) { return {_mm256_broadcastsi128_si256(a.v)}; }
PARAES_INLINE Vec broadcast(const std::uint8_t* p) {
  return {_mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))};
}
PARAES_INLINE Vec zero() { return {_mm256_setzero_si256()}; }
PARAES_INLINE Vec from_block(Block a) { return {_mm256_zextsi128_si256(a.v)}; }
PARAES_INLINE Vec from_word(std::uint64_t w) {
  const auto word = static_cast<long long>(w);
  return {_mm256_set_epi64x(0, word, 0, word)};
}
PARAES_INLINE Vec lane_numbers() { return {_mm256_set_epi64x(0, 1, 0, 0)}; }
PARAES_INLINE Block first_lane(Vec a) { return {_mm256_castsi256_si128(a.v)}; }
PARAES_INLINE Block fold_lanes(Vec a) {
  return {_mm_xor_si128(_mm256_castsi256_si128(a.v), _mm256_extracti128_si256(a.v, 1))};
}
// Lane k of the sum is the sum of the lanes of v[k].
PARAES_INLINE Vec sum_lanes(const Vec (&v)[Vec::lanes]) {
  return {_mm256_xor_si256(_mm256_permute2x128_si256(v[0].v, v[1].v, 0x20),
                           _mm256_permute2x128_si256(v[0].v, v[1].v, 0x31))};
}
PARAES_INLINE Vec operator^(Vec a, Vec b) { return {_mm256_xor_si256(a.v, b.v)}; }
[[maybe_unused]] PARAES_INLINE Vec operator&(Vec a, Vec b) { return {_mm256_and_si256(a.v, b.v)}; }
PARAES_INLINE Vec xor3(Vec a, Vec b, Vec c) { return a ^ b ^ c; }
PARAES_INLINE Vec add32(Vec a, Vec b) { return {_mm256_add_epi32(a.v, b.v)}; }
PARAES_INLINE Vec add64(Vec a, Vec b) { return {_mm256_add_epi64(a.v, b.v)}; }
PARAES_INLINE Vec reverse_bytes(Vec a) {
  return {_mm256_shuffle_epi8(a.v, _mm256_broadcastsi128_si256(_mm_set_epi8(
                                       0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)))};
}
PARAES_INLINE Vec swap_halves(Vec a) { return {_mm256_shuffle_epi32(a.v, 0x4e)}; }
PARAES_INLINE Vec encrypt_round(Vec s, Vec k) { return {_mm256_aesenc_epi128(s.v, k.v)}; }
PARAES_INLINE Vec encrypt_last(Vec s, Vec k) { return {_mm256_aesenclast_epi128(s.v, k.v)}; }
PARAES_INLINE Vec decrypt_round(Vec s, Vec k) { return {_mm256_aesdec_epi128(s.v, k.v)}; }
PARAES_INLINE Vec decrypt_last(Vec s, Vec k) { return {_mm256_aesdeclast_epi128(s.v, k.v)}; }
PARAES_INLINE Vec clmul_low(Vec a, Vec b) { return {_mm256_clmulepi64_epi128(a.v, b.v, 0x00)}; }
PARAES_INLINE Vec clmul_high(Vec a, Vec b) { return {_mm256_clmulepi64_epi128(a.v, b.v, 0x11)}; }
PARAES_INLINE Vec clmul_high_low(Vec a, Vec b) {
  return {_mm256_clmulepi64_epi128(a.v, b.v, 0x01)};
}
template <int N>
PARAES_INLINE Vec shift_left_bytes(Vec a) {
  return {_mm256_slli_si256(a.v, N)};
}
template <int N>
PARAES_INLINE Vec shift_right_bytes(Vec a) {
  return {_mm256_srli_si256(a.v, N)};
}
template <int N>
PARAES_INLINE Vec rotate_left_bytes(Vec a) {
  return {_mm256_alignr_epi8(a.v, a.v, 16 - N)};
}
template <int N>
PARAES_INLINE Vec shift_left_bits(Vec a) {
  return {_mm256_slli_epi64(a.v, N)};
}
template <int N>
PARAES_INLINE Vec shift_right_bits(Vec a) {
  return {_mm256_srli_epi64(a.v, N)};
}
// Shifts each lane by its number. A shift by 64 gives zero.
PARAES_INLINE Vec tweak_lanes(Vec t) {
  const Vec carries{_mm256_srlv_epi64(t.v, _mm256_set_epi64x(63, 63, 64, 64))};
  const Vec shifted{_mm256_sllv_epi64(t.v, _mm256_set_epi64x(1, 1, 0, 0))};
  return xor3(shifted, shift_left_bytes<8>(carries), clmul_high_low(carries, from_word(0x87)));
}

// Never called: aligned counters do not wrap inside one or two lanes.
[[maybe_unused]] PARAES_INLINE Vec join_halves(Vec a, Vec) { return a; }
PARAES_INLINE Vec low_halves(Vec a, Vec b) { return {_mm256_unpacklo_epi64(a.v, b.v)}; }
PARAES_INLINE Vec high_halves(Vec a, Vec b) { return {_mm256_unpackhi_epi64(a.v, b.v)}; }

#include "src/kernels/x86/steps.inc"

#include "src/kernels/vector/modes.inc"
#include "src/kernels/vector/nontemporal.inc"

}  // namespace
}  // namespace paraes::vaes256

PARAES_TARGET_END

namespace paraes {

constinit const Kernel vaes256_kernel = vaes256::with_nontemporal_stores(vaes256::make_kernel(
    "vaes256",
    CpuFeatureSet(CpuFeature::ssse3, CpuFeature::sse41, CpuFeature::aes, CpuFeature::pclmulqdq,
                  CpuFeature::avx, CpuFeature::avx2, CpuFeature::vaes, CpuFeature::vpclmulqdq),
    aesni::expand, aesni::cbc_encrypt));

}  // namespace paraes
