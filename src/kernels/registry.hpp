// The ordered table of all CPU kernels, and the selection of a kernel.
#pragma once

#include <span>
#include <string_view>

#include "src/kernels/kernel.hpp"

namespace paraes {

// All, the fastest constant-time kernels first. Kernels with the same name are variants of one
// kernel, the one that needs most CPU features first.
[[nodiscard]] std::span<const Kernel* const> kernel_table();

// Replaces an empty request by PARAES_KERNEL, or by `auto` if that is not set. Returns the name of
// the variable if it is used, or else nothing.
[[nodiscard]] std::string_view take_kernel_from_environment(std::string_view& request);

// See select_kernel in paraes/kernels.hpp.
[[nodiscard]] const Kernel& find_kernel(std::string_view request);

}  // namespace paraes
