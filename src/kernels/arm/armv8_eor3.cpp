// AES and PMULL with EOR3, the XOR of three registers, of the SHA-3 extension (Armv8.2).

#include <arm_neon.h>

#include "src/core/counter.hpp"
#include "src/kernels/shared.hpp"
#include "src/kernels/target.hpp"

PARAES_TARGET_BEGIN("arch=armv8.2-a+crypto+sha3")

namespace paraes::armv8_eor3 {
namespace {

PARAES_INLINE uint8x16_t xor3(uint8x16_t a, uint8x16_t b, uint8x16_t c) {
  return veor3q_u8(a, b, c);
}

#include "src/kernels/arm/block.inc"
#include "src/kernels/arm/steps.inc"
#include "src/kernels/vector/modes.inc"

}  // namespace
}  // namespace paraes::armv8_eor3

PARAES_TARGET_END

namespace paraes {

constinit const Kernel armv8_eor3_kernel = armv8_eor3::make_kernel(
    "armv8-eor3",
    CpuFeatureSet(CpuFeature::asimd, CpuFeature::aes, CpuFeature::pmull, CpuFeature::sha3),
    armv8::expand, armv8::cbc_encrypt);

}  // namespace paraes
