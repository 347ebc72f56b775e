// Chooses GPU kernels.
#pragma once

#include <string_view>

#include "src/gpu/programs/kernel_rows.hpp"

namespace paraes::detail {

// The row of the kernel `request`, a name as in select_kernel(). If it is empty, the name is the
// value of PARAES_KERNEL, or `auto` if that is not set. `auto` is the fastest constant-time kernel,
// or with allow_leaky the fastest kernel. Throws UnknownKernel if no GPU kernel has the name.
[[nodiscard]] const gpu::KernelRow& select_gpu_kernel(std::string_view request, bool allow_leaky);

}  // namespace paraes::detail
