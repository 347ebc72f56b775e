// How the messages of a launch are cut into tiles, and how many threads a group has.
#pragma once

#include <cstdint>
#include <span>

#include "src/gpu/device/host_job.hpp"
#include "src/gpu/programs/gpu_kernels.hpp"

namespace paraes::gpu {

// Most threads that work on a tile.
inline constexpr std::uint32_t warp_threads = 32;

struct Tiling {
  std::uint32_t tile_blocks = 0;  // a power of two
  std::uint32_t lanes = 0;        // threads that work on a tile
  std::uint64_t tiles = 0;        // of all messages
  std::uint64_t blocks = 0;       // that the kernel computes; more than the messages have
};

// The tiles of `messages` on a device with this many multiprocessors. `narrow`: whether the entry
// has a form for narrow tiles, if the kernel has any.
[[nodiscard]] Tiling choose_tiling(const GpuKernel& kernel, std::uint64_t processors,
                                   std::span<const paraes_message> messages, bool narrow);

// The tiles of a message, as in Tiling.
[[nodiscard]] std::uint64_t tiles_of(const paraes_message& message, const Tiling& tiling);

// Threads of each group, if `threads` threads have work. They are fewer than kernel.group_threads
// if more groups then spread over the multiprocessors. Not for ProgramVariant::full_groups.
[[nodiscard]] std::uint32_t group_threads(const GpuKernel& kernel, std::uint64_t processors,
                                          std::uint64_t threads);

// How many threads hash each of these messages together: all threads of a group, or 32, 16 or 8 if
// messages under the same key are so many that all multiprocessors have work. The fewer they are,
// the longer a message takes, and the less often sums are joined. A group has `group_threads`
// threads, and a multiprocessor holds `groups` of them. `tensors`: tensor cores do it, which take
// at least 16.
[[nodiscard]] std::uint32_t hash_lanes(std::uint64_t processors,
                                       std::span<const paraes_message> messages,
                                       std::uint32_t group_threads, std::uint32_t groups,
                                       bool tensors);

// Whether the tweaks of `units` XTS data units are too few for planes: each thread then encrypts
// two.
[[nodiscard]] bool few_unit_tweaks(const GpuKernel& kernel, std::uint64_t processors,
                                   std::uint64_t units);

}  // namespace paraes::gpu
