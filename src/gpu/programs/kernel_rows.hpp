// The table of GPU kernels: one row for each, with the sources and flags of its program.
#pragma once

#include <span>
#include <string_view>

#include "paraes/kernels.hpp"

namespace paraes::gpu {

struct KernelRow {
  std::string_view name;  // as in Execution::kernel
  Timing timing;
  std::span<const std::string_view> files;    // of src/gpu/device, in their order
  std::span<const std::string_view> options;  // its own flags
  unsigned blocks_per_thread;
  unsigned group_threads;
  bool sliced_keys;  // keys go through the entry slice_keys
  bool tables;       // it looks tables up, of which a group may hold 1, 2 or 4
  bool hash_tables;  // so does its GHASH
};

// Every GPU kernel, fastest first.
[[nodiscard]] std::span<const KernelRow> kernel_rows();
[[nodiscard]] const KernelRow& fastest_kernel_row();
[[nodiscard]] const KernelRow& fastest_constant_kernel_row();

// Throws InvalidArgument if no GPU kernel has this name.
[[nodiscard]] const KernelRow& find_kernel_row(std::string_view name);

}  // namespace paraes::gpu
