// Launches of the modes on one stream: the messages of a launch, the memory that its entries share,
// and their grids.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "paraes/ciphers.hpp"
#include "src/gpu/device/host_job.hpp"
#include "src/gpu/entry_launcher.hpp"
#include "src/gpu/key_slots.hpp"
#include "src/gpu/queue_timer.hpp"
#include "src/gpu/runtime/runtime.hpp"

namespace paraes::gpu {

class DeviceContext;

// Device memory that launches read and write.
struct LaunchBuffers {
  const Memory* in;
  const Memory* out;
};

// Enqueues without waiting. Keys are those that `keys` holds at the time.
class Launches {
 public:
  // The queue is that of `launcher`, `keys` and `timer`.
  Launches(DeviceContext& context, Queue& queue, EntryLauncher& launcher, const KeySlots& keys,
           QueueTimer& timer, std::size_t max_messages);
  Launches(const Launches&) = delete;
  Launches& operator=(const Launches&) = delete;

  [[nodiscard]] std::size_t max_messages() const noexcept { return max_messages_; }

  // Runs an entry on at most max_messages() messages, whose first_tile it fills in. The tiles of a
  // message are those of its text and of `more_blocks` blocks.
  void run(const char* entry, const LaunchBuffers& buffers, std::span<paraes_message> messages,
           unsigned more_blocks);
  // GHASH of the first `count` messages of the last run().
  void hash(const LaunchBuffers& buffers, std::size_t count);
  // XTS of one message of whole units, the last of which may be shorter if there is one alone. With
  // unit_tweak, the encrypted tweak of that one unit, it is not made from the message's number.
  void xts(const LaunchBuffers& buffers, Direction direction, paraes_message& message,
           std::uint32_t unit_blocks, const std::uint8_t* unit_tweak);

  // From here on, launches are kept for repeat().
  void record();
  // Launches once more what was launched since record(), on the messages of the last launch.
  void repeat();

 private:
  // Returns how many tiles there are.
  std::uint64_t upload(std::span<paraes_message> messages, unsigned more_blocks);
  [[nodiscard]] EntryArguments arguments(const LaunchBuffers& buffers, std::uint32_t count,
                                         std::uint64_t tiles) const;
  [[nodiscard]] Grid grid_for(std::uint64_t tiles) const;
  [[nodiscard]] std::uint64_t tile_blocks() const;
  void start(const char* entry, const EntryArguments& arguments, const Grid& grid);

  DeviceContext& context_;
  Queue& queue_;
  EntryLauncher& launcher_;
  const KeySlots& keys_;
  QueueTimer& timer_;
  std::size_t max_messages_;
  Memory messages_;
  Memory tag_masks_;                    // GCM
  Memory unit_tweaks_;                  // XTS, allocated when there is any
  Memory stretch_tweaks_;               // likewise
  std::vector<paraes_message> staged_;  // until the queue has copied them
  bool records_ = false;
  std::vector<EntryLaunch> recorded_;
};

}  // namespace paraes::gpu
