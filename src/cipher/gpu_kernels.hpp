// Which GPU kernel a request means.
#pragma once

#include <string_view>

#include "src/gpu/programs/kernel_rows.hpp"

namespace paraes::detail {

// The row for a name as in select_kernel(); empty: PARAES_KERNEL, if that is set, or `auto`. Throws
// InvalidArgument for a name that no GPU kernel has.
[[nodiscard]] const gpu::KernelRow& select_gpu_kernel(std::string_view request, bool allow_leaky);

}  // namespace paraes::detail
