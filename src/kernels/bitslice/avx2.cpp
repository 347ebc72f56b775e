// bitslice on 256-bit vectors: 16 blocks at a time.

#include <immintrin.h>

#include "src/kernels/block_modes.hpp"
#include "src/kernels/ghash_portable.hpp"
#include "src/kernels/shared.hpp"
#include "src/kernels/target.hpp"

PARAES_TARGET_BEGIN("avx2")

namespace paraes::bitslice_avx2 {
namespace {

struct Planes {
  __m256i v;
};
constexpr std::size_t lanes = 4;

PARAES_INLINE Planes load(const std::uint8_t* p) {
  return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))};
}
PARAES_INLINE void store(std::uint8_t* p, Planes x) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), x.v);
}
PARAES_INLINE Planes operator^(Planes a, Planes b) { return {_mm256_xor_si256(a.v, b.v)}; }
PARAES_INLINE Planes operator&(Planes a, Planes b) { return {_mm256_and_si256(a.v, b.v)}; }
PARAES_INLINE Planes operator>>(Planes a, int n) { return {_mm256_srli_epi64(a.v, n)}; }
PARAES_INLINE Planes operator<<(Planes a, int n) { return {_mm256_slli_epi64(a.v, n)}; }
PARAES_INLINE Planes spread(std::uint64_t word) {
  return {_mm256_set1_epi64x(static_cast<long long>(word))};
}
PARAES_INLINE Planes xor3(Planes a, Planes b, Planes c) { return a ^ b ^ c; }
PARAES_INLINE Planes and_xor(Planes a, Planes b, Planes c) { return (a & b) ^ c; }

PARAES_INLINE Planes counters(std::uint64_t high, std::uint64_t low) {
  const auto h = static_cast<long long>(high);
  const auto l = static_cast<long long>(low);
  const __m128i order = _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const __m256i blocks =
      _mm256_add_epi64(_mm256_set_epi64x(h, l, h, l), _mm256_set_epi64x(0, 1, 0, 0));
  return {_mm256_shuffle_epi8(blocks, _mm256_broadcastsi128_si256(order))};
}

template <int N>
PARAES_INLINE Planes rotate_rows(Planes x) {
  if constexpr (N == 2) return {_mm256_shuffle_epi32(x.v, 0xb1)};
  const __m128i order = _mm_set_epi8(9, 8, 15, 14, 13, 12, 11, 10, 1, 0, 7, 6, 5, 4, 3, 2);
  return {_mm256_shuffle_epi8(x.v, _mm256_broadcastsi128_si256(order))};
}

// Rotates each group of 16 bits to the left, by n for the factor 2^n: the low and the high half of
// the product have the two parts of the result.
PARAES_INLINE Planes rotate_groups(Planes x, std::uint64_t factors) {
  const __m256i f = spread(factors).v;
  return {_mm256_or_si256(_mm256_mullo_epi16(x.v, f), _mm256_mulhi_epu16(x.v, f))};
}
PARAES_INLINE Planes shift_rows(Planes x) { return rotate_groups(x, 0x0010010010000001); }
PARAES_INLINE Planes inverse_shift_rows(Planes x) { return rotate_groups(x, 0x1000010000100001); }

PARAES_INLINE __m256i alternate_halves(__m256i x) {
  const __m128i order = _mm_set_epi8(15, 7, 14, 6, 13, 5, 12, 4, 11, 3, 10, 2, 9, 1, 8, 0);
  return _mm256_shuffle_epi8(x, _mm256_broadcastsi128_si256(order));
}
PARAES_INLINE __m256i gather_halves(__m256i x) {
  const __m128i order = _mm_set_epi8(15, 13, 11, 9, 7, 5, 3, 1, 14, 12, 10, 8, 6, 4, 2, 0);
  return _mm256_shuffle_epi8(x, _mm256_broadcastsi128_si256(order));
}

// As in the portable variant. Blocks may be in any lane, as long as store_blocks undoes it.
PARAES_INLINE void load_blocks(Planes (&q)[8], const std::uint8_t* in) {
  PARAES_UNROLL
  for (int i = 0; i < 4; ++i) {
    const auto* from = reinterpret_cast<const __m256i*>(in);
    const __m256i a = alternate_halves(_mm256_loadu_si256(from + i));
    const __m256i b = alternate_halves(_mm256_loadu_si256(from + i + 4));
    q[i].v = _mm256_unpacklo_epi64(a, b);
    q[i + 4].v = _mm256_unpackhi_epi64(a, b);
  }
}

PARAES_INLINE void store_blocks(std::uint8_t* out, const Planes (&q)[8]) {
  PARAES_UNROLL
  for (int i = 0; i < 4; ++i) {
    auto* to = reinterpret_cast<__m256i*>(out);
    _mm256_storeu_si256(to + i, gather_halves(_mm256_unpacklo_epi64(q[i].v, q[i + 4].v)));
    _mm256_storeu_si256(to + i + 4, gather_halves(_mm256_unpackhi_epi64(q[i].v, q[i + 4].v)));
  }
}

#include "src/kernels/bitslice/nibbles.inc"

#include "src/kernels/bitslice/bitslice.inc"

}  // namespace
}  // namespace paraes::bitslice_avx2

PARAES_TARGET_END

namespace paraes {

constinit const Kernel bitslice_avx2_kernel = bitslice_avx2::make_kernel(
    "avx2", CpuFeatureSet(CpuFeature::ssse3, CpuFeature::sse41, CpuFeature::avx, CpuFeature::avx2),
    bitslice::expand, ghash_portable_init, ghash_portable);

}  // namespace paraes
