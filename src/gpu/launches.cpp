#include "src/gpu/launches.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include "paraes/error.hpp"
#include "src/gpu/context.hpp"
#include "src/gpu/device/sizes.h"
#include "src/gpu/pinned_pool.hpp"
#include "src/gpu/programs/program_files.hpp"

namespace paraes::gpu {
namespace {

// For the descriptions of some hundred messages.
constexpr std::size_t slab_bytes = std::size_t{64} << 10;

constexpr std::size_t tweak_bytes = 16;

}  // namespace

Launches::Launches(DeviceContext& context, Queue& queue, std::size_t max_messages)
    : context_(context),
      queue_(queue),
      timer_(queue, true),
      launcher_(context, queue),
      own_keys_(std::in_place, context, queue, launcher_, timer_),
      keys_(&*own_keys_) {
  reserve(messages_, max_messages * sizeof(paraes_message));
  reserve(tag_masks_, 16 * max_messages);
  static_cast<void>(staged(max_messages));
}

Launches::Launches(DeviceContext& context, Queue& queue, const SharedByQueues& shared)
    : context_(context),
      queue_(queue),
      timer_(queue, false),
      launcher_(context, queue),
      keys_(&shared.keys),
      pinned_(&shared.pinned),
      slab_(pinned_->take(slab_bytes)) {}

Launches::~Launches() = default;

std::uint64_t Launches::processors() const {
  return std::max<std::uint32_t>(context_.info().processors, 1);
}

void Launches::prepare(std::span<paraes_message> messages, bool narrow) {
  tiling_ = choose_tiling(*context_.variant().kernel, processors(), messages, narrow);
  std::uint64_t tiles = 0;
  for (paraes_message& message : messages) {
    message.first_tile = tiles;
    tiles += tiles_of(message, tiling_);
  }
  count_ = static_cast<std::uint32_t>(messages.size());
  any_address_ = std::ranges::any_of(messages, [](const paraes_message& message) {
    return message.bytes != 0 && (message.in | message.out) % block_bytes != 0;
  });
  const ProgramVariant& variant = context_.variant();
  hash_lanes_ =
      hash_lanes(processors(), messages, variant.hash_threads,
                 variant.tensor_hash ? PARAES_HASH_GROUPS_OF_TENSORS : hash_groups(variant),
                 variant.tensor_hash);
  has_tags_ = std::ranges::any_of(messages, [](const paraes_message& message) {
    return (message.flags & PARAES_HASH_PARTIAL) == 0;
  });
  const bool secret = std::ranges::any_of(
      messages, [](const auto& message) { return (message.flags & PARAES_SECRET_COUNTER) != 0; });
  const void* from = messages.data();
  if (pinned_ == nullptr) {
    const std::span<std::uint8_t> list = staged(messages.size());
    std::memcpy(list.data(), messages.data(), messages.size_bytes());
    from = list.data();
  }
  send(messages_, 0, from, messages.size_bytes(), secret);
}

void Launches::send(SecretMemory& to, std::size_t offset, const void* from, std::size_t bytes,
                    bool secret) {
  if (bytes == 0) return;
  reserve(to, offset + bytes);
  const Memory& memory = to.write(offset + bytes);
  const auto copy = [&](PinnedMemory* pinned, const std::uint8_t* data) {
    if (secret) {
      launcher_.copy_in(memory, offset, pinned, data, bytes, keys_->data_key());
    } else {
      queue_.upload(memory, offset, data, bytes);
    }
  };
  if (pinned_ == nullptr) {
    copy(staged_.memory(), static_cast<const std::uint8_t*>(from));
    return;
  }
  // Part of the slab, which nothing else overwrites until the queue has passed its end.
  if (!slab_ || slab_->host().size() - slab_used_ < bytes) {
    if (slab_) {
      std::unique_ptr<Mark> mark = queue_.mark();
      pinned_->give_back(std::move(slab_), std::move(mark));
    }
    slab_ = pinned_->take(std::max(bytes, slab_bytes));
    slab_used_ = 0;
  }
  std::uint8_t* const part = slab_->host().data() + slab_used_;
  slab_used_ += (bytes + 15) / 16 * 16;
  std::memcpy(part, from, bytes);
  copy(slab_.get(), part);
}

void Launches::set_first_iv(const Memory& from, std::size_t offset) {
  queue_.copy(messages_.read(), offsetof(paraes_message, iv), from, offset,
              sizeof paraes_message::iv);
}

Grid Launches::grid_for(std::uint64_t threads) const {
  const GpuKernel& kernel = *context_.variant().kernel;
  Grid grid;
  // The programs of HIP and OpenCL have groups of one size.
  grid.threads = context_.variant().group_threads;
  if (runtime_of(context_.info()) == "cuda" && !context_.variant().full_groups) {
    grid.threads = std::min(grid.threads, group_threads(kernel, processors(), threads));
  }
  grid.shared_bytes = mode_shared_bytes(context_.variant());
  const std::uint64_t groups = (threads + grid.threads - 1) / grid.threads;
  // Kernels with many blocks per thread have a persistent grid, whose groups take tile after tile.
  // Kernels with one block per thread have none, like those in the papers.
  std::uint64_t groups_per_processor = 8;
  // Groups of another size make a grid of as many threads: their size alone is to be measured.
  if (context_.variant().full_groups) {
    groups_per_processor =
        std::max<std::uint64_t>(groups_per_processor * kernel.group_threads / grid.threads, 1);
  }
  const std::uint64_t most =
      kernel.blocks_per_thread > 1 ? groups_per_processor * processors() : std::uint64_t{1} << 30;
  grid.groups = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(groups, 1, most));
  return grid;
}

EntryArguments Launches::arguments(const LaunchBuffers& buffers, std::uint32_t count,
                                   const Tiling& tiling) const {
  return {.in = buffers.in,
          .out = buffers.out,
          .messages = &messages_.read(),
          .count = count,
          .tiles = tiling.tiles,
          .key = keys_->data_key(),
          .scratch = &messages_.read(),  // of entries that use none
          .tile_blocks = tiling.tile_blocks,
          .any_address = any_address_};
}

void Launches::start(const char* entry, const EntryArguments& arguments, const Grid& grid) {
  const EntryLaunch launch = launcher_.prepare(entry, arguments, grid);
  launcher_.start(launch);
  if (!records_) return;
  recorded_.push_back(launch);
  // The caller's buffers may exist for the call only.
  for (const Memory** memory : {&recorded_.back().arguments.in, &recorded_.back().arguments.out}) {
    recorded_memory_.push_back(Memory::view((*memory)->handle(), (*memory)->bytes()));
    *memory = &recorded_memory_.back();
  }
}

void Launches::start_tiles(const char* entry, const EntryArguments& arguments,
                           const Tiling& tiling) {
  if (tiling.tiles == 0) return;
  std::string name = entry;
  if (tiling.lanes < warp_threads) name += "_narrow";
  start(name.c_str(), arguments, grid_for(tiling.tiles * tiling.lanes));
  blocks_ += tiling.blocks;
}

void Launches::start_singles(const char* entry, const EntryArguments& arguments,
                             std::uint64_t blocks) {
  const unsigned each = context_.variant().kernel->singles;
  const std::uint64_t threads = (blocks + each - 1) / each;
  start(entry, arguments, grid_for(threads));
  blocks_ += each * threads;
}

void Launches::run_prepared(const char* entry, const LaunchBuffers& buffers) {
  if (tiling_.tiles == 0) return;
  timer_.begin(&PhaseTimes::kernel);
  start_tiles(entry, arguments(buffers, count_, tiling_), tiling_);
  timer_.end();
}

// No more groups than run at once, because each builds its tables anew.
Grid Launches::hash_grid(std::uint64_t messages, std::uint32_t shared_bytes, unsigned at_once,
                         std::uint32_t groups) const {
  return {.groups = static_cast<std::uint32_t>(
              std::min<std::uint64_t>((messages + at_once - 1) / at_once, groups * processors())),
          .threads = context_.variant().hash_threads,
          .shared_bytes = shared_bytes};
}

void Launches::start_hash(EntryArguments arguments) {
  const ProgramVariant& variant = context_.variant();
  arguments.key = keys_->hash_key();
  arguments.tile_blocks = hash_lanes_;
  const unsigned at_once = variant.hash_threads / hash_lanes_;
  if (variant.tensor_hash && hash_lanes_ <= warp_threads) {
    start("ghash_tensor", arguments,
          hash_grid(arguments.count, PARAES_HASH_TENSOR_SHARED_BYTES, at_once,
                    PARAES_HASH_GROUPS_OF_TENSORS));
  } else {
    start("ghash", arguments,
          hash_grid(arguments.count, hash_shared_bytes(variant), at_once, hash_groups(variant)));
  }
}

void Launches::hash(const LaunchBuffers& buffers, std::size_t count) {
  reserve(tag_masks_, 16 * count);
  EntryArguments hash = arguments(buffers, static_cast<std::uint32_t>(count), {});
  timer_.begin(&PhaseTimes::kernel);
  hash.scratch = &tag_masks_.read();
  if (has_tags_) {
    EntryArguments masks = arguments(buffers, static_cast<std::uint32_t>(count), {});
    masks.key = keys_->data_schedule();
    masks.scratch = &tag_masks_.write(16 * count);
    start_singles("gcm_masks", masks, count);
  }
  start_hash(hash);
  timer_.end();
}

void Launches::gcm(const LaunchBuffers& buffers, Direction direction, GcmWork& work) {
  if (work.ends.empty()) return;
  const auto messages = static_cast<std::uint32_t>(work.ends.size());
  prepare(work.ranges, true);
  const std::size_t hashes = 16 * work.ends.size();
  const std::size_t ends = hashes + 16 * work.ranges.size();
  send(gcm_starts_, 0, work.starts.data(), work.starts.size() * sizeof(paraes_message), false);
  send(gcm_scratch_, ends, work.ends.data(), work.ends.size() * sizeof(paraes_gcm_end), true);

  timer_.begin(&PhaseTimes::kernel);
  EntryArguments masks = arguments(buffers, messages, {});
  masks.messages = &gcm_starts_.read();
  masks.key = keys_->data_schedule();
  masks.scratch = &gcm_scratch_.write();
  start_singles("gcm_masks", masks, messages);
  const auto cipher = [&] { start_tiles("gcm_ctr", arguments(buffers, count_, tiling_), tiling_); };
  if (direction == Direction::encrypt) cipher();
  if (count_ != 0) {
    EntryArguments hash = arguments(buffers, count_, {});
    hash.tiles = messages;
    hash.scratch = &gcm_scratch_.write();
    start_hash(hash);
  }
  const bool joins =
      std::ranges::any_of(work.ends, [](const paraes_gcm_end& end) { return end.ranges > 1; });
  EntryArguments finish = arguments(buffers, messages, {});
  // It reads texts of neither buffer, but may withhold one that is opened.
  (direction == Direction::encrypt ? finish.out : finish.in) = buffers.tags;
  finish.tiles = count_;
  finish.key = keys_->hash_key();
  finish.scratch = &gcm_scratch_.write();
  const ProgramVariant& variant = context_.variant();
  const Grid grid = hash_grid(messages, hash_key_shared_bytes(variant), 1, hash_groups(variant));
  if (joins) start("ghash_join", finish, grid);
  start("gcm_finish", finish, grid);
  if (direction == Direction::decrypt) cipher();
  timer_.end();
}

void Launches::run_prepared_xts(const LaunchBuffers& buffers, Direction direction,
                                const paraes_message& message, std::uint32_t unit_blocks,
                                const std::uint8_t* unit_tweak) {
  const std::uint64_t units = message.bytes / 16 / unit_blocks;
  const std::uint64_t stretches = units * PARAES_STRETCHES(unit_blocks);
  if (tiling_.tiles == 0) return;
  reserve(unit_tweaks_, 16 * units);
  reserve(stretch_tweaks_, 16 * stretches);

  timer_.begin(&PhaseTimes::kernel);
  if (unit_tweak != nullptr) {
    if (pinned_ == nullptr) {
      const std::span<std::uint8_t> place = staged(count_).last(tweak_bytes);
      std::memcpy(place.data(), unit_tweak, tweak_bytes);
      unit_tweak = place.data();
    }
    send(unit_tweaks_, 0, unit_tweak, tweak_bytes, true);
  } else {
    start_unit_tweaks(buffers, units, unit_blocks);
  }
  EntryArguments spread =
      arguments({&unit_tweaks_.read(), &stretch_tweaks_.write(16 * stretches)}, 1, {});
  spread.tiles = stretches;
  spread.unit_blocks = unit_blocks;
  start("xts_stretches", spread, grid_for(stretches));
  EntryArguments data = arguments(buffers, 1, tiling_);
  data.scratch = &stretch_tweaks_.read();
  data.unit_blocks = unit_blocks;
  start_tiles(direction == Direction::encrypt ? "xts_encrypt" : "xts_decrypt", data, tiling_);
  timer_.end();
}

void Launches::start_unit_tweaks(const LaunchBuffers& buffers, std::uint64_t units,
                                 std::uint32_t unit_blocks) {
  const GpuKernel& kernel = *context_.variant().kernel;
  // The units are the blocks that are encrypted.
  const paraes_message message = make_message(0, 0, 16 * units, nullptr);
  const Tiling tiling = choose_tiling(kernel, processors(), {&message, 1}, false);
  EntryArguments tweaks = arguments(buffers, 1, tiling);
  tweaks.scratch = &unit_tweaks_.write(16 * units);
  tweaks.unit_blocks = unit_blocks;
  if (few_unit_tweaks(kernel, processors(), units)) {
    tweaks.key = keys_->tweak_schedule();
    start_singles("xts_few_unit_tweaks", tweaks, units);
  } else {
    tweaks.key = keys_->tweak_key();
    start_tiles("xts_unit_tweaks", tweaks, tiling);
  }
}

void Launches::reserve(SecretMemory& memory, std::size_t bytes) {
  if (memory.bytes() >= bytes) return;
  SecretMemory larger(context_.device(), queue_, memory ? std::bit_ceil(bytes) : bytes);
  if (memory) {
    memory.wipe();
    replaced_.push_back(std::move(memory));
  }
  memory = std::move(larger);
}

std::span<std::uint8_t> Launches::staged(std::size_t messages) {
  return staged_.take(context_.device(), messages * sizeof(paraes_message) + tweak_bytes);
}

void Launches::end_of_work() noexcept {
  replaced_.clear();
  staged_.wipe();
}

void Launches::wipe() noexcept {
  staged_.wipe();  // a copy that is still pending copies zeros
  for (SecretMemory* memory :
       {&messages_, &tag_masks_, &unit_tweaks_, &stretch_tweaks_, &gcm_starts_, &gcm_scratch_}) {
    memory->wipe();
  }
}

void Launches::record() {
  records_ = true;
  recorded_.clear();
  recorded_memory_.clear();
}

void Launches::repeat() {
  for (const EntryLaunch& launch : recorded_) launcher_.start(launch);
}

}  // namespace paraes::gpu
