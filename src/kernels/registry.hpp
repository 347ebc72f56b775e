// The ordered table of all CPU kernels, and the selection of a row.
#pragma once

#include <span>
#include <string_view>

#include "src/kernels/kernel.hpp"

namespace paraes {

// All rows, the fastest constant-time kernels first. Rows with the same name are builds of one
// kernel, the one that needs most CPU features first.
[[nodiscard]] std::span<const Kernel* const> kernel_rows();

// See select_kernel in paraes/kernels.hpp.
[[nodiscard]] const Kernel& find_kernel(std::string_view request);

}  // namespace paraes
