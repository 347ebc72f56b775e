// Creates the cipher for a key and an Execution: reads the device name, chooses the kernel and
// expands the key.
#pragma once

#include <memory>
#include <string_view>

#include "paraes/ciphers.hpp"
#include "src/cipher/cipher.hpp"
#include "src/gpu/programs/gpu_kernels.hpp"

namespace paraes::detail {

// Throw InvalidArgument for a key of the wrong size, or XTS keys whose halves are equal.
void check_aes_key(Bytes key);
void check_xts_key(Bytes key);

// The GPU kernel `request`, a name as in select_kernel(). If it is empty, the name is the value of
// PARAES_KERNEL, or `auto` if that is not set: the fastest constant-time kernel, or with
// allow_leaky the fastest. Throws what find_gpu_kernel throws.
[[nodiscard]] const gpu::GpuKernel& select_gpu_kernel(std::string_view request, bool allow_leaky);

// The kernel for work that only the CPU does. Throws InvalidArgument for a GPU.
[[nodiscard]] const Kernel& cpu_kernel(const Execution& execution);

// Throw what the functions above throw, and InvalidArgument for an unknown device
// or kernel, or a wrong number of threads. Throw Unavailable or DeviceError if the device or the
// kernel cannot be used; with execution.fall_back, the CPU is used instead.
[[nodiscard]] std::shared_ptr<const BlockCipher> open_block_cipher(Bytes key,
                                                                   const Execution& execution);
[[nodiscard]] std::shared_ptr<const XtsCipher> open_xts_cipher(Bytes key,
                                                               const Execution& execution);
// Says whether a cipher can work on the CPU and GPUs together ("cpu+cuda:0"), as those of segments.
enum class Pairs : bool { refuse, accept };
[[nodiscard]] std::shared_ptr<const GcmCipher> open_gcm_cipher(Bytes key,
                                                               const Execution& execution,
                                                               Pairs pairs);

}  // namespace paraes::detail
