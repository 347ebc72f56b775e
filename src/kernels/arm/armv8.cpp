// AES and PMULL, the cryptographic extension of Armv8.

#include <arm_neon.h>

#include "src/core/counter.hpp"
#include "src/kernels/shared.hpp"
#include "src/kernels/target.hpp"

PARAES_TARGET_BEGIN("arch=armv8-a+crypto")

namespace paraes::armv8 {
namespace {

PARAES_INLINE uint8x16_t xor3(uint8x16_t a, uint8x16_t b, uint8x16_t c) {
  return veorq_u8(veorq_u8(a, b), c);
}

#include "src/kernels/arm/block.inc"
#include "src/kernels/arm/steps.inc"
#include "src/kernels/vector/modes.inc"

// SubWord of FIPS 197 section 5.2. With the word in every column, ShiftRows changes nothing.
PARAES_INLINE std::uint32_t sub_word(std::uint32_t w) {
  const uint8x16_t columns = vreinterpretq_u8_u32(vdupq_n_u32(w));
  return vgetq_lane_u32(vreinterpretq_u32_u8(vaeseq_u8(columns, vdupq_n_u8(0))), 0);
}

PARAES_INLINE Block inverse_mix_columns(Block a) { return {vaesimcq_u8(a.v)}; }

// AESE adds its operands, so that the only XORs on the path from block to block are its own: the
// text is added to the keys 0 and Rounds, which follow each other between two blocks.
template <int Rounds>
void cbc_encrypt_rounds(const KeySchedule& schedule, std::uint8_t chain[16], const std::uint8_t* in,
                        std::uint8_t* out, std::size_t blocks) {
  Block keys[Rounds + 1];
  PARAES_UNROLL
  for (int r = 0; r <= Rounds; ++r) keys[r] = load_block(schedule.encrypt[r]);
  const Block between = keys[0] ^ keys[Rounds];
  Block state = load_block(chain) ^ keys[Rounds];
  for (; blocks != 0; --blocks, in += 16, out += 16) {
    state = {vaesmcq_u8(vaeseq_u8(state.v, (load_block(in) ^ between).v))};
    PARAES_UNROLL
    for (int r = 1; r < Rounds - 1; ++r) state = {vaesmcq_u8(vaeseq_u8(state.v, keys[r].v))};
    state = {vaeseq_u8(state.v, keys[Rounds - 1].v)};
    store_block(out, state ^ keys[Rounds]);
  }
  store_block(chain, state ^ keys[Rounds]);
}

}  // namespace

#include "src/kernels/vector/expand.inc"

void cbc_encrypt(const KeySchedule& schedule, std::uint8_t chain[16], const std::uint8_t* in,
                 std::uint8_t* out, std::size_t blocks) {
  with_rounds(schedule,
              [&]<int Rounds>() { cbc_encrypt_rounds<Rounds>(schedule, chain, in, out, blocks); });
}

}  // namespace paraes::armv8

PARAES_TARGET_END

namespace paraes {

constinit const Kernel armv8_kernel = armv8::make_kernel(
    "armv8", CpuFeatureSet(CpuFeature::asimd, CpuFeature::aes, CpuFeature::pmull), armv8::expand,
    armv8::cbc_encrypt);

}  // namespace paraes
