// VAES and VPCLMULQDQ on 512-bit registers.

#include <immintrin.h>

#include "src/core/counter.hpp"
#include "src/kernels/shared.hpp"
#include "src/kernels/target.hpp"

PARAES_TARGET_BEGIN("avx512f,avx512bw,avx512dq,avx512vl,aes,pclmul,vaes,vpclmulqdq")

namespace paraes::vaes512 {
namespace {

#include "src/kernels/x86/block.inc"

constexpr int registers = 32;

struct Vec {
  static constexpr std::size_t lanes = 4;
  __m512i v;
};

PARAES_INLINE Vec load(const std::uint8_t* p) { return {_mm512_loadu_si512(p)}; }
PARAES_INLINE void store(std::uint8_t* p, Vec a) { _mm512_storeu_si512(p, a.v); }
PARAES_INLINE __mmask8 lane_mask(std::size_t blocks) {
  return static_cast<__mmask8>((1U << (2 * blocks)) - 1);
}
PARAES_INLINE void store_nontemporal(std::uint8_t* p, Vec a) {
  _mm512_stream_si512(reinterpret_cast<__m512i*>(p), a.v);
}
PARAES_INLINE void store_blocks_nontemporal(std::uint8_t* p, Vec a) {
  auto* const blocks = reinterpret_cast<__m128i*>(p);
  _mm_stream_si128(blocks, _mm512_castsi512_si128(a.v));
  _mm_stream_si128(blocks + 1, _mm512_extracti32x4_epi32(a.v, 1));
  _mm_stream_si128(blocks + 2, _mm512_extracti32x4_epi32(a.v, 2));
  _mm_stream_si128(blocks + 3, _mm512_extracti32x4_epi32(a.v, 3));
}
PARAES_INLINE void fence_nontemporal() { _mm_sfence(); }
PARAES_INLINE void clear_upper_halves() { _mm256_zeroupper(); }
// A single block has often just been stored. A wider load could not be forwarded from that store
// and would wait until it has reached the cache.
PARAES_INLINE Vec load_partial(const std::uint8_t* p, std::size_t blocks) {
  if (blocks == 1) {
    return {_mm512_zextsi128_si512(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))};
  }
  return {_mm512_maskz_loadu_epi64(lane_mask(blocks), p)};
}
PARAES_INLINE void store_partial(std::uint8_t* p, Vec a, std::size_t blocks) {
  if (blocks == 1) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_castsi512_si128(a.v));
    return;
  }
  _mm512_mask_storeu_epi64(p, lane_mask(blocks), a.v);
}
// Not from where the first of the blocks is: those zeros may be in another cache line.
PARAES_INLINE Vec load_last(const std::uint8_t* end, std::size_t blocks) {
  const auto mask = static_cast<__mmask8>(0xff00U >> (2 * blocks));
  return {_mm512_maskz_compress_epi64(mask, _mm512_loadu_si512(end - 64))};
}
PARAES_INLINE __mmask64 byte_mask(std::size_t bytes) { return ~std::uint64_t{0} >> (64 - bytes); }
PARAES_INLINE Vec load_bytes(const std::uint8_t* p, std::size_t bytes) {
  return {_mm512_maskz_loadu_epi8(byte_mask(bytes), p)};
}
PARAES_INLINE void store_bytes(std::uint8_t* p, Vec a, std::size_t bytes) {
  _mm512_mask_storeu_epi8(p, byte_mask(bytes), a.v);
}
PARAES_INLINE Vec first_bytes(Vec a, std::size_t bytes) {
  return {_mm512_maskz_mov_epi8(byte_mask(bytes), a.v)};
}
PARAES_INLINE Vec broadcast(Block a) { return {_mm512_broadcast_i32x4(a.v)}; }
PARAES_INLINE Vec broadcast(const std::uint8_t* p) {
  return {_mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))};
}
PARAES_INLINE Vec zero() { return {_mm512_setzero_si512()}; }
PARAES_INLINE Vec from_block(Block a) { return {_mm512_zextsi128_si512(a.v)}; }
PARAES_INLINE Vec from_word(std::uint64_t w) {
  const auto word = static_cast<long long>(w);
  return {_mm512_set_epi64(0, word, 0, word, 0, word, 0, word)};
}
PARAES_INLINE Vec lane_numbers() { return {_mm512_set_epi64(0, 3, 0, 2, 0, 1, 0, 0)}; }
PARAES_INLINE Block first_lane(Vec a) { return {_mm512_castsi512_si128(a.v)}; }
PARAES_INLINE Vec put_lane(Vec a, std::size_t lane, Block b) {
  return {_mm512_mask_broadcast_i64x2(a.v, static_cast<__mmask8>(3U << (2 * lane)), b.v)};
}
PARAES_INLINE Block get_lane(Vec a, std::size_t lane) {
  const auto mask = static_cast<__mmask8>(3U << (2 * lane));
  return {_mm512_castsi512_si128(_mm512_maskz_compress_epi64(mask, a.v))};
}
PARAES_INLINE void get_lanes(Vec a, Block (&blocks)[Vec::lanes]) {
  blocks[0] = {_mm512_castsi512_si128(a.v)};
  blocks[1] = {_mm512_extracti32x4_epi32(a.v, 1)};
  blocks[2] = {_mm512_extracti32x4_epi32(a.v, 2)};
  blocks[3] = {_mm512_extracti32x4_epi32(a.v, 3)};
}
PARAES_INLINE Block fold_lanes(Vec a) {
  const __m256i half =
      _mm256_xor_si256(_mm512_castsi512_si256(a.v), _mm512_extracti64x4_epi64(a.v, 1));
  return {_mm_xor_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1))};
}
PARAES_INLINE __m512i sum_halves(__m512i a, __m512i b) {
  return _mm512_xor_si512(_mm512_shuffle_i64x2(a, b, 0x44), _mm512_shuffle_i64x2(a, b, 0xee));
}
// Lane k of the sum is the sum of the lanes of v[k].
PARAES_INLINE Vec sum_lanes(const Vec (&v)[Vec::lanes]) {
  const __m512i a = sum_halves(v[0].v, v[1].v);
  const __m512i b = sum_halves(v[2].v, v[3].v);
  return {_mm512_xor_si512(_mm512_shuffle_i64x2(a, b, 0x88), _mm512_shuffle_i64x2(a, b, 0xdd))};
}
PARAES_INLINE Vec operator^(Vec a, Vec b) { return {_mm512_xor_si512(a.v, b.v)}; }
PARAES_INLINE Vec operator&(Vec a, Vec b) { return {_mm512_and_si512(a.v, b.v)}; }
PARAES_INLINE Vec xor3(Vec a, Vec b, Vec c) {
  return {_mm512_ternarylogic_epi64(a.v, b.v, c.v, 0x96)};
}
PARAES_INLINE Vec add32(Vec a, Vec b) { return {_mm512_add_epi32(a.v, b.v)}; }
PARAES_INLINE Vec add64(Vec a, Vec b) { return {_mm512_add_epi64(a.v, b.v)}; }
PARAES_INLINE Vec reverse_bytes(Vec a) {
  return {_mm512_shuffle_epi8(a.v, _mm512_broadcast_i32x4(_mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
                                                                       10, 11, 12, 13, 14, 15)))};
}
PARAES_INLINE Vec swap_halves(Vec a) {
  return {_mm512_shuffle_epi32(a.v, static_cast<_MM_PERM_ENUM>(0x4e))};
}
PARAES_INLINE Vec encrypt_round(Vec s, Vec k) { return {_mm512_aesenc_epi128(s.v, k.v)}; }
PARAES_INLINE Vec encrypt_last(Vec s, Vec k) { return {_mm512_aesenclast_epi128(s.v, k.v)}; }
PARAES_INLINE Vec decrypt_round(Vec s, Vec k) { return {_mm512_aesdec_epi128(s.v, k.v)}; }
PARAES_INLINE Vec decrypt_last(Vec s, Vec k) { return {_mm512_aesdeclast_epi128(s.v, k.v)}; }
PARAES_INLINE Vec clmul_low(Vec a, Vec b) { return {_mm512_clmulepi64_epi128(a.v, b.v, 0x00)}; }
PARAES_INLINE Vec clmul_high(Vec a, Vec b) { return {_mm512_clmulepi64_epi128(a.v, b.v, 0x11)}; }
PARAES_INLINE Vec clmul_high_low(Vec a, Vec b) {
  return {_mm512_clmulepi64_epi128(a.v, b.v, 0x01)};
}
template <int N>
PARAES_INLINE Vec shift_left_bytes(Vec a) {
  return {_mm512_bslli_epi128(a.v, N)};
}
template <int N>
PARAES_INLINE Vec shift_right_bytes(Vec a) {
  return {_mm512_bsrli_epi128(a.v, N)};
}
// By four bytes, a shuffle of 32-bit words. With VPALIGNR, XTS takes 4 % longer (Zen 4).
template <int N>
PARAES_INLINE Vec rotate_left_bytes(Vec a) {
  static_assert(N == 4);
  return {_mm512_shuffle_epi32(a.v, static_cast<_MM_PERM_ENUM>(0x93))};
}
template <int N>
PARAES_INLINE Vec shift_left_bits(Vec a) {
  return {_mm512_slli_epi64(a.v, N)};
}
template <int N>
PARAES_INLINE Vec shift_right_bits(Vec a) {
  return {_mm512_srli_epi64(a.v, N)};
}
// Shifts each lane by its number. A shift by 64 gives zero.
PARAES_INLINE Vec tweak_lanes(Vec t) {
  const Vec carries{_mm512_srlv_epi64(t.v, _mm512_set_epi64(61, 61, 62, 62, 63, 63, 64, 64))};
  const Vec shifted{_mm512_sllv_epi64(t.v, _mm512_set_epi64(3, 3, 2, 2, 1, 1, 0, 0))};
  return xor3(shifted, shift_left_bytes<8>(carries), clmul_high_low(carries, from_word(0x87)));
}

PARAES_INLINE Vec join_halves(Vec a, Vec b) { return {_mm512_mask_blend_epi64(0xf0, a.v, b.v)}; }
PARAES_INLINE Vec low_halves(Vec a, Vec b) { return {_mm512_unpacklo_epi64(a.v, b.v)}; }
PARAES_INLINE Vec high_halves(Vec a, Vec b) { return {_mm512_unpackhi_epi64(a.v, b.v)}; }

#include "src/kernels/x86/steps.inc"

#include "src/kernels/vector/modes.inc"
#include "src/kernels/vector/nontemporal.inc"

}  // namespace
}  // namespace paraes::vaes512

PARAES_TARGET_END

namespace paraes {

constinit const Kernel vaes512_kernel = vaes512::with_nontemporal_stores(vaes512::make_kernel(
    "vaes512",
    CpuFeatureSet(CpuFeature::ssse3, CpuFeature::sse41, CpuFeature::aes, CpuFeature::pclmulqdq,
                  CpuFeature::avx, CpuFeature::avx2, CpuFeature::vaes, CpuFeature::vpclmulqdq,
                  CpuFeature::avx512f, CpuFeature::avx512dq, CpuFeature::avx512bw,
                  CpuFeature::avx512vl),
    aesni::expand, aesni::cbc_encrypt));

}  // namespace paraes
