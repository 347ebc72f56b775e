// AES and PMULL with EOR3, the XOR of three registers, of the SHA-3 extension (Armv8.2).

#include "src/kernels/arm/armv8.hpp"

#include <arm_neon.h>

#include "src/core/counter.hpp"
#include "src/kernels/rows.hpp"
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

const Kernel armv8_eor3_kernel = {
    .name = "armv8-eor3",
    .variant = "",
    .needs = CpuFeatureSet(CpuFeature::asimd, CpuFeature::aes, CpuFeature::pmull, CpuFeature::sha3),
    .timing = Timing::constant,
    .expand = armv8::expand,
    .ecb_encrypt = armv8_eor3::ecb<true>,
    .ecb_decrypt = armv8_eor3::ecb<false>,
    .cbc_encrypt = armv8::cbc_encrypt,
    .cbc_decrypt = armv8_eor3::cbc_decrypt,
    .ctr = armv8_eor3::ctr,
    .ctr_nontemporal = nullptr,
    .xts_tweaks = armv8_eor3::xts_tweaks,
    .xts_encrypt = armv8_eor3::xts<true>,
    .xts_decrypt = armv8_eor3::xts<false>,
    .ghash_init = armv8_eor3::ghash_init,
    .ghash = armv8_eor3::ghash,
    .gcm_encrypt = armv8_eor3::gcm<true>,
    .gcm_decrypt = armv8_eor3::gcm<false>,
    .gcm_seal = armv8_eor3::gcm_seal,
    .gcm_open = armv8_eor3::gcm_open,
    .gcm_seal_many = armv8_eor3::gcm_seal_many,
    .gcm_open_many = armv8_eor3::gcm_open_many,
};

}  // namespace paraes
