// Loads the program of a device from the first of these that has it:
//   1. the folders of PARAES_PROGRAM_PATH, which prepare() fills;
//   2. the cache;
//   3. the compiler of the runtime, whose result goes into the cache.
#pragma once

#include <memory>
#include <string>

#include "src/gpu/programs/program_variant.hpp"
#include "src/gpu/runtime/runtime.hpp"

namespace paraes::gpu {

struct LoadedProgram {
  std::shared_ptr<Program> program;
  std::string origin;  // "compiled", "cached" or the path of a prepared file
};

// Throws MissingProgram if no place has the program and there is no compiler, DamagedProgram if the
// program in a folder of PARAES_PROGRAM_PATH is damaged, DeviceError if it cannot be compiled or
// loaded.
[[nodiscard]] LoadedProgram load_program(Device& device, const ProgramVariant& variant);

}  // namespace paraes::gpu
