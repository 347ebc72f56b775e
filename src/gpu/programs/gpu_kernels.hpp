// The table of GPU kernels, each with the sources and flags of its program.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "paraes/kernels.hpp"

namespace paraes::gpu {

struct GpuKernel {
  std::string_view name;  // as in Execution::kernel
  Timing timing;
  std::array<std::string_view, 2> aes_files;      // its own in src/gpu/device: see source_of()
  std::array<std::string_view, 2> counter_files;  // likewise
  std::array<std::string_view, 2> options;        // -D flags of this kernel
  unsigned blocks_per_thread = 1;                 // most blocks of a tile for each of its threads
  unsigned batch = 1;                             // how many of these it computes at once
  unsigned singles = 1;  // how many single blocks it encrypts at once, each under its own key
  unsigned group_threads = 256;
  bool sliced_keys = false;  // the entry slice_keys prepares its keys
  bool tables = false;       // it can keep 1, 2 or 4 round tables in shared memory
  bool hash_tables = false;  // its GHASH uses tables, unless tensor cores do it
  bool tensor_hash = false;  // its GHASH is on tensor cores where that has been measured as faster
};

// Every GPU kernel, fastest first.
[[nodiscard]] std::span<const GpuKernel> gpu_kernel_table();

// The kernel with this name. Throws UnknownKernel if no GPU kernel has it. `source`: the
// environment variable that has the name, or empty.
[[nodiscard]] const GpuKernel& find_gpu_kernel(std::string_view name, std::string_view source = {});

}  // namespace paraes::gpu
