// A kernel and a key expanded for it, which every mode is built on.
#pragma once

#include "src/core/locked_memory.hpp"
#include "src/kernels/kernel.hpp"

namespace paraes {

struct CipherKey : InLockedMemory {
  const Kernel& kernel;
  KeySchedule schedule;

  // key_bytes: 16, 24 or 32; the public classes have checked it.
  CipherKey(const Kernel& used, const std::uint8_t* key, unsigned key_bytes) : kernel(used) {
    used.expand(schedule, key, key_bytes);
  }
};

}  // namespace paraes
