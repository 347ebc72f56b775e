// Compiles programs into a folder of PARAES_PROGRAM_PATH. No GPU is needed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/gpu/programs/kernel_rows.hpp"

namespace paraes::gpu {

// See prepare_programs() in paraes/devices.hpp.
std::vector<std::string> prepare(const KernelRow& row, std::string_view target,
                                 const std::string& folder);

}  // namespace paraes::gpu
