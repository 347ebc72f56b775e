#include "src/gpu/launches.hpp"

#include <algorithm>

#include "src/gpu/context.hpp"
#include "src/gpu/device/sizes.h"

namespace paraes::gpu {
namespace {

// Threads that work on the same tile.
constexpr std::uint32_t warp_threads = 32;

}  // namespace

Launches::Launches(DeviceContext& context, Queue& queue, EntryLauncher& launcher,
                   const KeySlots& keys, QueueTimer& timer, std::size_t max_messages)
    : context_(context),
      queue_(queue),
      launcher_(launcher),
      keys_(keys),
      timer_(timer),
      max_messages_(max_messages),
      messages_(context.device(), queue, max_messages * sizeof(paraes_message)),
      tag_masks_(context.device(), queue, 16 * max_messages) {}

std::uint64_t Launches::processors() const {
  return std::max<std::uint32_t>(context_.info().processors, 1);
}

std::uint64_t Launches::tile_blocks() const {
  return warp_threads * context_.variant().row->blocks_per_thread;
}

std::uint64_t Launches::upload(std::span<paraes_message> messages) {
  std::uint64_t tiles = 0;
  for (paraes_message& message : messages) {
    message.first_tile = tiles;
    const std::uint64_t blocks = (message.bytes + 15) / 16;
    tiles += (blocks + tile_blocks() - 1) / tile_blocks();
  }
  staged_.assign(messages.begin(), messages.end());
  queue_.upload(messages_.write(messages.size_bytes()), 0, staged_.data(), messages.size_bytes());
  return tiles;
}

Grid Launches::grid_for(std::uint64_t tiles) const {
  const KernelRow& row = *context_.variant().row;
  Grid grid;
  grid.threads = row.group_threads;
  grid.shared_bytes = mode_shared_bytes(context_.variant());
  const std::uint64_t warps_in_group = row.group_threads / warp_threads;
  const std::uint64_t groups = (tiles + warps_in_group - 1) / warps_in_group;
  // Kernels with many blocks per thread have a persistent grid, whose groups take tile after tile.
  // Kernels with one block per thread have none, like those in the papers.
  constexpr std::uint64_t groups_per_processor = 8;
  const std::uint64_t most =
      row.blocks_per_thread > 1 ? groups_per_processor * processors() : std::uint64_t{1} << 30;
  grid.groups = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(groups, 1, most));
  return grid;
}

Grid Launches::grid_of_threads(std::uint64_t threads) const {
  const KernelRow& row = *context_.variant().row;
  Grid grid;
  grid.threads = row.group_threads;
  grid.shared_bytes = mode_shared_bytes(context_.variant());
  grid.groups = static_cast<std::uint32_t>((threads + grid.threads - 1) / grid.threads);
  return grid;
}

EntryArguments Launches::arguments(const LaunchBuffers& buffers, std::uint32_t count,
                                   std::uint64_t tiles) const {
  return {.in = buffers.in,
          .out = buffers.out,
          .messages = &messages_.read(),
          .count = count,
          .tiles = tiles,
          .key = keys_.data_key(),
          .scratch = &tag_masks_.read(),
          .unit_blocks = 0};
}

void Launches::start(const char* entry, const EntryArguments& arguments, const Grid& grid) {
  const EntryLaunch launch = launcher_.prepare(entry, arguments, grid);
  launcher_.start(launch);
  if (records_) recorded_.push_back(launch);
}

void Launches::run(const char* entry, const LaunchBuffers& buffers,
                   std::span<paraes_message> messages) {
  const std::uint64_t tiles = upload(messages);
  if (tiles == 0) return;
  timer_.begin(&PhaseTimes::kernel);
  start(entry, arguments(buffers, static_cast<std::uint32_t>(messages.size()), tiles),
        grid_for(tiles));
  timer_.end();
}

void Launches::hash(const LaunchBuffers& buffers, std::size_t count) {
  Grid grid;
  grid.threads = hash_threads;
  grid.shared_bytes = hash_shared_bytes(context_.variant());
  // As many groups as run at once, because each builds its tables anew.
  grid.groups = static_cast<std::uint32_t>(
      std::min<std::size_t>(count, PARAES_HASH_GROUPS_PER_UNIT * processors()));
  EntryArguments hash = arguments(buffers, static_cast<std::uint32_t>(count), 0);
  hash.key = keys_.hash_key();
  timer_.begin(&PhaseTimes::kernel);
  const bool has_tags = std::any_of(
      staged_.begin(), staged_.begin() + static_cast<std::ptrdiff_t>(count),
      [](const paraes_message& message) { return (message.flags & PARAES_HASH_PARTIAL) == 0; });
  if (has_tags) {
    EntryArguments masks = arguments(buffers, static_cast<std::uint32_t>(count), 0);
    masks.key = keys_.data_schedule();
    masks.scratch = &tag_masks_.write(16 * count);
    start("gcm_masks", masks, grid_of_threads(count));
  }
  start("ghash", hash, grid);
  timer_.end();
}

void Launches::xts(const LaunchBuffers& buffers, Direction direction, paraes_message& message,
                   std::uint32_t unit_blocks, const std::uint8_t* unit_tweak) {
  const std::uint64_t units = message.bytes / 16 / unit_blocks;
  const std::uint64_t stretches = units * PARAES_STRETCHES(unit_blocks);
  const std::uint64_t tiles = upload({&message, 1});
  if (tiles == 0) return;
  reserve(unit_tweaks_, 16 * units);
  reserve(stretch_tweaks_, 16 * stretches);

  timer_.begin(&PhaseTimes::kernel);
  if (unit_tweak != nullptr) {
    queue_.upload(unit_tweaks_.write(16), 0, unit_tweak, 16);
  } else {
    EntryArguments tweaks = arguments(buffers, 1, (units + tile_blocks() - 1) / tile_blocks());
    tweaks.key = keys_.tweak_key();
    tweaks.scratch = &unit_tweaks_.write(16 * units);
    tweaks.unit_blocks = unit_blocks;
    start("xts_unit_tweaks", tweaks, grid_for(tweaks.tiles));
  }
  EntryArguments spread =
      arguments({&unit_tweaks_.read(), &stretch_tweaks_.write(16 * stretches)}, 1, stretches);
  spread.unit_blocks = unit_blocks;
  start("xts_stretches", spread, grid_of_threads(stretches));
  EntryArguments data = arguments(buffers, 1, tiles);
  data.scratch = &stretch_tweaks_.read();
  data.unit_blocks = unit_blocks;
  start(direction == Direction::encrypt ? "xts_encrypt" : "xts_decrypt", data, grid_for(tiles));
  timer_.end();
}

void Launches::reserve(SecretMemory& memory, std::size_t bytes) {
  if (memory.bytes() < bytes) memory = SecretMemory(context_.device(), queue_, bytes);
}

void Launches::wipe() noexcept {
  for (SecretMemory* memory : {&messages_, &tag_masks_, &unit_tweaks_, &stretch_tweaks_}) {
    memory->wipe();
  }
}

void Launches::record() {
  records_ = true;
  recorded_.clear();
}

void Launches::repeat() {
  for (const EntryLaunch& launch : recorded_) launcher_.start(launch);
}

}  // namespace paraes::gpu
