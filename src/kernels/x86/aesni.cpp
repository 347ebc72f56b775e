// AES-NI and PCLMULQDQ on 128-bit registers.

#include <immintrin.h>

#include "src/core/counter.hpp"
#include "src/kernels/shared.hpp"
#include "src/kernels/target.hpp"

PARAES_TARGET_BEGIN("sse4.1,ssse3,aes,pclmul")

namespace paraes::aesni {
namespace {

#include "src/kernels/x86/block.inc"

constexpr int registers = 16;
PARAES_INLINE Block zero() { return {_mm_setzero_si128()}; }

#include "src/kernels/vector/one_lane.inc"

PARAES_INLINE void store_nontemporal(std::uint8_t* p, Vec a) {
  _mm_stream_si128(reinterpret_cast<__m128i*>(p), a.v);
}
PARAES_INLINE void store_blocks_nontemporal(std::uint8_t* p, Vec a) { store_nontemporal(p, a); }
PARAES_INLINE void fence_nontemporal() { _mm_sfence(); }
PARAES_INLINE Vec add32(Vec a, Vec b) { return {_mm_add_epi32(a.v, b.v)}; }
PARAES_INLINE Vec add64(Vec a, Vec b) { return {_mm_add_epi64(a.v, b.v)}; }
PARAES_INLINE Vec encrypt_round(Vec s, Vec k) { return {_mm_aesenc_si128(s.v, k.v)}; }
PARAES_INLINE Vec encrypt_last(Vec s, Vec k) { return {_mm_aesenclast_si128(s.v, k.v)}; }
PARAES_INLINE Vec decrypt_round(Vec s, Vec k) { return {_mm_aesdec_si128(s.v, k.v)}; }
PARAES_INLINE Vec decrypt_last(Vec s, Vec k) { return {_mm_aesdeclast_si128(s.v, k.v)}; }
PARAES_INLINE Vec clmul_high(Vec a, Vec b) { return {_mm_clmulepi64_si128(a.v, b.v, 0x11)}; }
PARAES_INLINE Vec clmul_high_low(Vec a, Vec b) { return {_mm_clmulepi64_si128(a.v, b.v, 0x01)}; }
template <int N>
PARAES_INLINE Vec rotate_left_bytes(Vec a) {
  return {_mm_alignr_epi8(a.v, a.v, 16 - N)};
}
template <int N>
PARAES_INLINE Vec shift_left_bits(Vec a) {
  return {_mm_slli_epi64(a.v, N)};
}
template <int N>
PARAES_INLINE Vec shift_right_bits(Vec a) {
  return {_mm_srli_epi64(a.v, N)};
}
PARAES_INLINE Vec low_halves(Vec a, Vec b) { return {_mm_unpacklo_epi64(a.v, b.v)}; }
PARAES_INLINE Vec high_halves(Vec a, Vec b) { return {_mm_unpackhi_epi64(a.v, b.v)}; }

#include "src/kernels/x86/steps.inc"

#include "src/kernels/vector/modes.inc"
#include "src/kernels/vector/nontemporal.inc"

// SubWord of FIPS 197 section 5.2. AESKEYGENASSIST applies it to the second and the fourth word.
PARAES_INLINE std::uint32_t sub_word(std::uint32_t w) {
  const __m128i a = _mm_set1_epi32(static_cast<int>(w));
  return static_cast<std::uint32_t>(_mm_cvtsi128_si32(_mm_aeskeygenassist_si128(a, 0)));
}

PARAES_INLINE Block inverse_mix_columns(Block a) { return {_mm_aesimc_si128(a.v)}; }

}  // namespace

#include "src/kernels/vector/expand.inc"

void cbc_encrypt(const KeySchedule& schedule, std::uint8_t chain[16], const std::uint8_t* in,
                 std::uint8_t* out, std::size_t blocks) {
  const unsigned rounds = schedule.rounds;
  const Vec first = load(schedule.encrypt[0]);
  const Vec last = load(schedule.encrypt[rounds]);
  Vec state = load(chain);
  for (; blocks != 0; --blocks, in += 16, out += 16) {
    state = state ^ (load(in) ^ first);
    for (unsigned r = 1; r < rounds; ++r) state = encrypt_round(state, load(schedule.encrypt[r]));
    state = encrypt_last(state, last);
    store(out, state);
  }
  store(chain, state);
}

}  // namespace paraes::aesni

PARAES_TARGET_END

namespace paraes {

constinit const Kernel aesni_kernel = aesni::with_nontemporal_stores(aesni::make_kernel(
    "aesni",
    CpuFeatureSet(CpuFeature::ssse3, CpuFeature::sse41, CpuFeature::aes, CpuFeature::pclmulqdq),
    aesni::expand, aesni::cbc_encrypt));

}  // namespace paraes
