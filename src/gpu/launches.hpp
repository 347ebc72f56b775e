// Launches the modes on one stream: uploads the messages of a launch, owns the memory that its
// entries share, and chooses their grids.
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
#include "src/gpu/secret_memory.hpp"

namespace paraes::gpu {

class DeviceContext;

// Device memory that launches read and write.
struct LaunchBuffers {
  const Memory* in;
  const Memory* out;
};

// Calls enqueue without waiting, and use the keys that `keys` holds at that time.
class Launches {
 public:
  // `launcher`, `keys` and `timer` must use the same queue.
  Launches(DeviceContext& context, Queue& queue, EntryLauncher& launcher, const KeySlots& keys,
           QueueTimer& timer, std::size_t max_messages);
  Launches(const Launches&) = delete;
  Launches& operator=(const Launches&) = delete;

  [[nodiscard]] std::size_t max_messages() const noexcept { return max_messages_; }

  // Runs an entry on at most max_messages() messages, and sets their first_tile.
  void run(const char* entry, const LaunchBuffers& buffers, std::span<paraes_message> messages);
  // GHASH of the first `count` messages of the last run(), and the masks of their tags.
  void hash(const LaunchBuffers& buffers, std::size_t count);
  // XTS of one message that consists of whole units of `unit_blocks` blocks. If unit_tweak is not
  // nullptr, the message is a single unit, and this is its encrypted tweak. Otherwise the tweaks
  // are computed from the unit number in the message.
  void xts(const LaunchBuffers& buffers, Direction direction, paraes_message& message,
           std::uint32_t unit_blocks, const std::uint8_t* unit_tweak);

  // Enqueues the wiping of what earlier launches computed with a key.
  void wipe() noexcept;

  // Begins to record launches for repeat().
  void record();
  // Repeats all launches since record(), with the messages of the last one.
  void repeat();

 private:
  // Uploads the messages and returns how many tiles they have.
  std::uint64_t upload(std::span<paraes_message> messages);
  [[nodiscard]] EntryArguments arguments(const LaunchBuffers& buffers, std::uint32_t count,
                                         std::uint64_t tiles) const;
  void reserve(SecretMemory& memory, std::size_t bytes);
  [[nodiscard]] Grid grid_for(std::uint64_t tiles) const;
  // For entries whose threads work by themselves.
  [[nodiscard]] Grid grid_of_threads(std::uint64_t threads) const;
  [[nodiscard]] std::uint64_t processors() const;
  [[nodiscard]] std::uint64_t tile_blocks() const;
  void start(const char* entry, const EntryArguments& arguments, const Grid& grid);

  DeviceContext& context_;
  Queue& queue_;
  EntryLauncher& launcher_;
  const KeySlots& keys_;
  QueueTimer& timer_;
  std::size_t max_messages_;
  SecretMemory messages_;               // J0 of a nonce that is hashed reveals the hash key
  SecretMemory tag_masks_;              // GCM
  SecretMemory unit_tweaks_;            // XTS, allocated when first needed
  SecretMemory stretch_tweaks_;         // likewise
  std::vector<paraes_message> staged_;  // until the queue has copied them
  bool records_ = false;
  std::vector<EntryLaunch> recorded_;
};

}  // namespace paraes::gpu
