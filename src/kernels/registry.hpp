// The one ordered table of CPU kernels, and the choice among its rows.
#pragma once

#include <span>
#include <string_view>

#include "src/kernels/kernel.hpp"

namespace paraes {

// All rows, fastest constant-time first. Rows that share a name are builds of one kernel, the one
// that needs the most first.
[[nodiscard]] std::span<const Kernel* const> kernel_rows();

// See select_kernel in paraes/kernels.hpp.
[[nodiscard]] const Kernel& find_kernel(std::string_view request);

}  // namespace paraes
