// Where the program of a device comes from, in this order:
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
  std::unique_ptr<Program> program;
  std::string origin;  // "compiled", "cached" or the path of a prepared file, for -v
};

// Throws MissingProgram if the program is nowhere and nothing compiles it, DamagedProgram if a
// folder of PARAES_PROGRAM_PATH has one that is damaged.
[[nodiscard]] LoadedProgram load_program(Device& device, const ProgramVariant& variant);

}  // namespace paraes::gpu
