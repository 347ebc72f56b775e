// Compiles programs into a folder of PARAES_PROGRAM_PATH. No GPU is needed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "paraes/devices.hpp"
#include "src/gpu/programs/kernel_rows.hpp"

namespace paraes::gpu {

// See require_program_target() and prepare_programs() in paraes/devices.hpp.
void require_target(std::string_view target);
std::vector<std::string> prepare(const KernelRow& row, std::string_view target,
                                 const std::string& folder, const ProgramFileOptions& options = {});

}  // namespace paraes::gpu
