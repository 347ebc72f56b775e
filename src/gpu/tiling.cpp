#include "src/gpu/tiling.hpp"

#include <algorithm>
#include <bit>

namespace paraes::gpu {
namespace {

// Warps for each multiprocessor that hide the latency of table look-ups.
constexpr std::uint64_t enough_warps = 8;

// x / 2^n, rounded up.
constexpr std::uint64_t shift_up(std::uint64_t x, int n) {
  return (x >> n) + ((x & ((std::uint64_t{1} << n) - 1)) != 0 ? 1 : 0);
}

Tiling tiling_of(const GpuKernel& kernel, std::uint32_t tile_blocks,
                 std::span<const paraes_message> messages) {
  Tiling tiling{
      .tile_blocks = tile_blocks,
      .lanes = kernel.sliced_keys ? tile_blocks / kernel.blocks_per_thread : warp_threads};
  // The threads of a tile stop after the batch that has its last block.
  const int step = std::countr_zero(tiling.lanes * kernel.batch);
  for (const paraes_message& message : messages) {
    tiling.tiles += tiles_of(message, tiling);
    tiling.blocks += shift_up(shift_up(message.bytes, 4), step) << step;
  }
  return tiling;
}

}  // namespace

std::uint64_t tiles_of(const paraes_message& message, const Tiling& tiling) {
  return shift_up(shift_up(message.bytes, 4), std::countr_zero(tiling.tile_blocks));
}

Tiling choose_tiling(const GpuKernel& kernel, std::uint64_t processors,
                     std::span<const paraes_message> messages, bool narrow) {
  const std::uint32_t widest = warp_threads * kernel.blocks_per_thread;
  Tiling tiling = tiling_of(kernel, widest, messages);
  if (kernel.sliced_keys) {
    // A thread always computes a whole batch, so tiles are as narrow as messages are short. Wide
    // tiles have better code, which makes up for 2 % more blocks.
    if (!narrow) return tiling;
    const std::uint64_t least = tiling_of(kernel, kernel.batch, messages).blocks;
    while (50 * tiling.blocks > 51 * least) {
      tiling = tiling_of(kernel, tiling.tile_blocks / 2, messages);
    }
    return tiling;
  }
  // Threads stop where a message ends, so small tiles save no blocks, and beginning a tile takes as
  // long as about one block of each thread. But the tiles are shared out to all processors.
  while (tiling.tile_blocks > warp_threads * kernel.batch &&
         tiling.tiles < enough_warps * processors) {
    tiling = tiling_of(kernel, tiling.tile_blocks / 2, messages);
  }
  return tiling;
}

std::uint32_t group_threads(const GpuKernel& kernel, std::uint64_t processors,
                            std::uint64_t threads) {
  // Where a group fills tables, smaller groups would take longer to do that. Kernels with one block
  // a thread are as in the papers.
  if (!kernel.sliced_keys) return kernel.group_threads;
  const std::uint64_t warps = (threads + warp_threads - 1) / warp_threads;
  const std::uint64_t each = std::max<std::uint64_t>((warps + processors - 1) / processors, 1);
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(warp_threads * each, kernel.group_threads));
}

std::uint32_t hash_lanes(std::uint64_t processors, std::span<const paraes_message> messages,
                         std::uint32_t group_threads, std::uint32_t groups, bool tensors) {
  std::uint64_t runs = 1;
  for (std::size_t i = 1; i < messages.size(); ++i) {
    runs += messages[i].key != messages[i - 1].key ? 1 : 0;
  }
  // Whether that many lanes leave every multiprocessor enough groups, each with messages of one
  // key.
  const auto suit = [&](std::uint32_t lanes, std::uint64_t of_processor) {
    const std::uint64_t at_once = group_threads / lanes;
    return messages.size() >= at_once * std::max(of_processor * processors, runs);
  };
  for (const std::uint32_t lanes : {8U, 16U}) {
    if (tensors && lanes < 16) continue;
    if (suit(lanes, groups)) return lanes;
  }
  return suit(warp_threads, 1) ? warp_threads : group_threads;
}

bool few_unit_tweaks(const GpuKernel& kernel, std::uint64_t processors, std::uint64_t units) {
  // A single tweak takes three times as many instructions as one in planes, but those of 1024 units
  // keep only one of the four schedulers of a multiprocessor busy.
  return kernel.sliced_keys && units < 2048 * processors;
}

}  // namespace paraes::gpu
