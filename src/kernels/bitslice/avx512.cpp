// bitslice on pairs of 512-bit vectors: 64 blocks at a time, with three-input logic.

#include <immintrin.h>

#include "src/kernels/block_modes.hpp"
#include "src/kernels/ghash_portable.hpp"
#include "src/kernels/shared.hpp"
#include "src/kernels/target.hpp"

PARAES_TARGET_BEGIN("avx512f,avx512bw,avx512vbmi2")

namespace paraes::bitslice_avx512 {
namespace {

// Two vectors, because the circuit on one has too few independent gates to keep the core busy. Not
// all values then fit in the registers, but spilling them costs less.
struct Planes {
  __m512i v;
  __m512i w;
};
constexpr std::size_t lanes = 16;

PARAES_INLINE Planes load(const std::uint8_t* p) {
  return {_mm512_loadu_si512(p), _mm512_loadu_si512(p + 64)};
}
PARAES_INLINE void store(std::uint8_t* p, Planes x) {
  _mm512_storeu_si512(p, x.v);
  _mm512_storeu_si512(p + 64, x.w);
}
PARAES_INLINE Planes operator^(Planes a, Planes b) {
  return {_mm512_xor_si512(a.v, b.v), _mm512_xor_si512(a.w, b.w)};
}
PARAES_INLINE Planes operator&(Planes a, Planes b) {
  return {_mm512_and_si512(a.v, b.v), _mm512_and_si512(a.w, b.w)};
}
PARAES_INLINE Planes operator>>(Planes a, unsigned n) {
  return {_mm512_srli_epi64(a.v, n), _mm512_srli_epi64(a.w, n)};
}
PARAES_INLINE Planes operator<<(Planes a, unsigned n) {
  return {_mm512_slli_epi64(a.v, n), _mm512_slli_epi64(a.w, n)};
}
PARAES_INLINE Planes spread(std::uint64_t word) {
  const __m512i x = _mm512_set1_epi64(static_cast<long long>(word));
  return {x, x};
}
PARAES_INLINE Planes xor3(Planes a, Planes b, Planes c) {
  return {_mm512_ternarylogic_epi64(a.v, b.v, c.v, 0x96),
          _mm512_ternarylogic_epi64(a.w, b.w, c.w, 0x96)};
}
PARAES_INLINE Planes and_xor(Planes a, Planes b, Planes c) {
  return {_mm512_ternarylogic_epi64(a.v, b.v, c.v, 0x6a),
          _mm512_ternarylogic_epi64(a.w, b.w, c.w, 0x6a)};
}

PARAES_INLINE __m512i counters4(std::uint64_t high, std::uint64_t low) {
  const auto h = static_cast<long long>(high);
  const auto l = static_cast<long long>(low);
  const __m128i order = _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const __m512i blocks = _mm512_add_epi64(_mm512_set_epi64(h, l, h, l, h, l, h, l),
                                          _mm512_set_epi64(0, 3, 0, 2, 0, 1, 0, 0));
  return _mm512_shuffle_epi8(blocks, _mm512_broadcast_i32x4(order));
}
PARAES_INLINE Planes counters(std::uint64_t high, std::uint64_t low) {
  return {counters4(high, low), counters4(high, low + 4)};
}

template <int N>
PARAES_INLINE Planes rotate_rows(Planes x) {
  if constexpr (N == 2) {
    return {_mm512_shuffle_epi32(x.v, static_cast<_MM_PERM_ENUM>(0xb1)),
            _mm512_shuffle_epi32(x.w, static_cast<_MM_PERM_ENUM>(0xb1))};
  }
  return {_mm512_ror_epi64(x.v, 16 * N), _mm512_ror_epi64(x.w, 16 * N)};
}

// Rotates each group of 16 bits to the left by its own count.
PARAES_INLINE Planes rotate_groups(Planes x, std::uint64_t counts) {
  const __m512i c = _mm512_set1_epi64(static_cast<long long>(counts));
  return {_mm512_shldv_epi16(x.v, x.v, c), _mm512_shldv_epi16(x.w, x.w, c)};
}
PARAES_INLINE Planes shift_rows(Planes x) { return rotate_groups(x, 0x00040008000c0000); }
PARAES_INLINE Planes inverse_shift_rows(Planes x) { return rotate_groups(x, 0x000c000800040000); }

PARAES_INLINE __m512i alternate_halves(__m512i x) {
  const __m128i order = _mm_set_epi8(15, 7, 14, 6, 13, 5, 12, 4, 11, 3, 10, 2, 9, 1, 8, 0);
  return _mm512_shuffle_epi8(x, _mm512_broadcast_i32x4(order));
}
PARAES_INLINE __m512i gather_halves(__m512i x) {
  const __m128i order = _mm_set_epi8(15, 13, 11, 9, 7, 5, 3, 1, 14, 12, 10, 8, 6, 4, 2, 0);
  return _mm512_shuffle_epi8(x, _mm512_broadcast_i32x4(order));
}

// As in the portable variant. Blocks may be in any lane, as long as store_blocks undoes it.
PARAES_INLINE void load_blocks(Planes (&q)[8], const std::uint8_t* in) {
  PARAES_UNROLL
  for (int i = 0; i < 4; ++i) {
    const __m512i a = alternate_halves(_mm512_loadu_si512(in + 64 * i));
    const __m512i b = alternate_halves(_mm512_loadu_si512(in + 64 * (i + 4)));
    const __m512i c = alternate_halves(_mm512_loadu_si512(in + 64 * (i + 8)));
    const __m512i d = alternate_halves(_mm512_loadu_si512(in + 64 * (i + 12)));
    q[i] = {_mm512_unpacklo_epi64(a, b), _mm512_unpacklo_epi64(c, d)};
    q[i + 4] = {_mm512_unpackhi_epi64(a, b), _mm512_unpackhi_epi64(c, d)};
  }
}

PARAES_INLINE void store_blocks(std::uint8_t* out, const Planes (&q)[8]) {
  PARAES_UNROLL
  for (int i = 0; i < 4; ++i) {
    _mm512_storeu_si512(out + 64 * i, gather_halves(_mm512_unpacklo_epi64(q[i].v, q[i + 4].v)));
    _mm512_storeu_si512(out + 64 * (i + 4),
                        gather_halves(_mm512_unpackhi_epi64(q[i].v, q[i + 4].v)));
    _mm512_storeu_si512(out + 64 * (i + 8),
                        gather_halves(_mm512_unpacklo_epi64(q[i].w, q[i + 4].w)));
    _mm512_storeu_si512(out + 64 * (i + 12),
                        gather_halves(_mm512_unpackhi_epi64(q[i].w, q[i + 4].w)));
  }
}

#include "src/kernels/bitslice/nibbles.inc"

#include "src/kernels/bitslice/bitslice.inc"

}  // namespace
}  // namespace paraes::bitslice_avx512

PARAES_TARGET_END

namespace paraes {

constinit const Kernel bitslice_avx512_kernel = bitslice_avx512::make_kernel(
    "avx512",
    CpuFeatureSet(CpuFeature::ssse3, CpuFeature::sse41, CpuFeature::avx, CpuFeature::avx2,
                  CpuFeature::avx512f, CpuFeature::avx512bw, CpuFeature::avx512vbmi2),
    bitslice::expand, ghash_portable_init, ghash_portable);

}  // namespace paraes
