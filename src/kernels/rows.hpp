// The rows of the table in registry.cpp. Each is defined in the file of its kernel.
#pragma once

#include "src/kernels/kernel.hpp"

namespace paraes {

extern const Kernel reference_kernel;
extern const Kernel ttable_kernel;
extern const Kernel bitslice_kernel;
extern const Kernel openssl_kernel;
#if defined(__x86_64__)
extern const Kernel bitslice_avx2_kernel;
extern const Kernel bitslice_avx512_kernel;
extern const Kernel aesni_kernel;
extern const Kernel vaes256_kernel;
extern const Kernel vaes512_kernel;
#elif defined(__AARCH64EL__)
extern const Kernel armv8_kernel;
extern const Kernel armv8_eor3_kernel;
extern const Kernel bitslice_neon_kernel;
#endif

}  // namespace paraes
