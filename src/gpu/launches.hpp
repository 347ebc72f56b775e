// Launches the modes on one stream: uploads the messages of a launch, owns the memory that its
// entries share, and chooses their grids.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "paraes/ciphers.hpp"
#include "paraes/secret.hpp"
#include "src/gpu/device/host_job.hpp"
#include "src/gpu/entry_launcher.hpp"
#include "src/gpu/key_slots.hpp"
#include "src/gpu/queue_timer.hpp"
#include "src/gpu/runtime/runtime.hpp"
#include "src/gpu/secret_memory.hpp"
#include "src/gpu/tiling.hpp"

namespace paraes::gpu {

class DeviceContext;
class PinnedPool;

// Device memory that launches read and write.
struct LaunchBuffers {
  const Memory* in;
  const Memory* out;
  const Memory* tags = nullptr;  // of gcm()
};

// Shared by the launches of several queues.
struct SharedByQueues {
  PinnedPool& pinned;
  KeySlots& keys;
};

// GCM messages whose texts are hashed in ranges: each message has a start (its J0 and key) and an
// end, and any number of ranges.
struct GcmWork {
  std::vector<paraes_message> starts;
  std::vector<paraes_gcm_end> ends;
  std::vector<paraes_message> ranges;

  GcmWork() = default;
  GcmWork(GcmWork&&) noexcept = default;
  GcmWork& operator=(GcmWork&&) noexcept = default;
  ~GcmWork() { secure_zero(ends.data(), ends.size() * sizeof(paraes_gcm_end)); }
};

// Calls enqueue work, and use the keys that keys() holds at that time. They do not wait, except
// that drivers may when memory is allocated, or copied from memory that is not pinned.
class Launches {
 public:
  // With keys of its own, one call must have ended on the device before the next one begins, and
  // calls are timed. Memory for max_messages messages is allocated at once, and more when it is
  // needed.
  Launches(DeviceContext& context, Queue& queue, std::size_t max_messages);
  // With keys that must stay as they are. Messages are copied to the device from the shared pool.
  Launches(DeviceContext& context, Queue& queue, const SharedByQueues& shared);
  ~Launches();

  [[nodiscard]] QueueTimer& timer() noexcept { return timer_; }
  [[nodiscard]] const EntryLauncher& launcher() const noexcept { return launcher_; }
  [[nodiscard]] KeySlots& keys() noexcept { return *keys_; }

  // Runs an entry on the messages, and sets their first_tile.
  void run(const char* entry, const LaunchBuffers& buffers, std::span<paraes_message> messages) {
    prepare(messages, true);
    run_prepared(entry, buffers);
  }
  // The two halves of run(). Between them, set_first_iv() copies the 16 bytes at `offset` of device
  // memory to the first message's `iv`. `narrow`: as in choose_tiling().
  void prepare(std::span<paraes_message> messages, bool narrow);
  void set_first_iv(const Memory& from, std::size_t offset);
  void run_prepared(const char* entry, const LaunchBuffers& buffers);
  // GHASH of the first `count` messages of the last run(), and the masks of their tags.
  void hash(const LaunchBuffers& buffers, std::size_t count);
  // XTS of one message that consists of whole units of `unit_blocks` blocks. If unit_tweak is not
  // nullptr, the message is a single unit, and this is its encrypted tweak. Otherwise the tweaks
  // are computed from the unit number in the message.
  void xts(const LaunchBuffers& buffers, Direction direction, paraes_message& message,
           std::uint32_t unit_blocks, const std::uint8_t* unit_tweak) {
    prepare({&message, 1}, false);
    run_prepared_xts(buffers, direction, message, unit_blocks, unit_tweak);
  }
  // The second half of xts().
  void run_prepared_xts(const LaunchBuffers& buffers, Direction direction,
                        const paraes_message& message, std::uint32_t unit_blocks,
                        const std::uint8_t* unit_tweak);

  // Seals or opens GCM messages. Ranges have the flags PARAES_HASH_PARTIAL and
  // PARAES_HASH_TO_SCRATCH, and for opening PARAES_HASH_INPUT. Opening decrypts only what is
  // authentic, and fills other texts with zeros. Tags are at any byte of their buffer.
  void gcm(const LaunchBuffers& buffers, Direction direction, GcmWork& work);
  // For each message of the last gcm(), 16 bytes, of which the first four are 1 if it is authentic
  // or was sealed, else 0.
  [[nodiscard]] const Memory& verdicts() const noexcept { return gcm_scratch_.read(); }

  // Frees memory that larger memory has replaced, and overwrites what was copied to the device. The
  // queue must have finished.
  void end_of_work() noexcept;

  // Enqueues the wiping of what earlier launches computed with a key.
  void wipe() noexcept;

  // Begins to record launches for repeat().
  void record();
  // Repeats all launches since record(), with the messages of the last one. Their device memory
  // must still exist.
  void repeat();

  // How many blocks all launches have computed, those that no message needs included, for tests.
  [[nodiscard]] std::uint64_t blocks() const noexcept { return blocks_; }

 private:
  // Copies `bytes` bytes to `to`, which is made larger if necessary; `secret` leaves no copy with
  // the driver. Without a pool of pinned memory they are in staged_.
  void send(SecretMemory& to, std::size_t offset, const void* from, std::size_t bytes, bool secret);
  // For entries of which a group works on `at_once` messages at a time, and a multiprocessor holds
  // `groups` groups.
  [[nodiscard]] Grid hash_grid(std::uint64_t messages, std::uint32_t shared_bytes, unsigned at_once,
                               std::uint32_t groups) const;
  // Starts ghash for the prepared messages.
  void start_hash(EntryArguments arguments);
  [[nodiscard]] EntryArguments arguments(const LaunchBuffers& buffers, std::uint32_t count,
                                         const Tiling& tiling) const;
  void reserve(SecretMemory& memory, std::size_t bytes);
  // staged_ for so many messages, and behind them a tweak. No copy may use it if it must grow.
  [[nodiscard]] std::span<std::uint8_t> staged(std::size_t messages);
  [[nodiscard]] Grid grid_for(std::uint64_t threads) const;
  [[nodiscard]] std::uint64_t processors() const;
  void start(const char* entry, const EntryArguments& arguments, const Grid& grid);
  // Start an entry that works on tiles, or one that encrypts single blocks.
  void start_tiles(const char* entry, const EntryArguments& arguments, const Tiling& tiling);
  void start_singles(const char* entry, const EntryArguments& arguments, std::uint64_t blocks);
  void start_unit_tweaks(const LaunchBuffers& buffers, std::uint64_t units,
                         std::uint32_t unit_blocks);

  DeviceContext& context_;
  Queue& queue_;
  QueueTimer timer_;
  EntryLauncher launcher_;
  std::optional<KeySlots> own_keys_;
  KeySlots* keys_;
  PinnedPool* pinned_ = nullptr;        // if it has no keys of its own
  std::unique_ptr<PinnedMemory> slab_;  // of which parts are used, one after another
  std::size_t slab_used_ = 0;
  std::uint32_t count_ = 0;             // of the prepared messages
  Tiling tiling_{};                     // likewise
  bool any_address_ = false;            // whether some do not begin at a multiple of 16 bytes
  bool has_tags_ = false;               // whether some are not PARAES_HASH_PARTIAL
  std::uint32_t hash_lanes_ = 0;        // threads that hash each of them together
  SecretMemory messages_;               // J0 of a nonce that is hashed reveals the hash key
  SecretMemory tag_masks_;              // GCM
  SecretMemory unit_tweaks_;            // XTS, allocated when first needed
  SecretMemory stretch_tweaks_;         // likewise
  SecretMemory gcm_starts_;             // GCM in ranges, likewise
  SecretMemory gcm_scratch_;            // likewise: tag masks, then hashes, then ends
  std::vector<SecretMemory> replaced_;  // earlier work may still use it
  // The messages and a tweak, until the queue has copied them, if there is no pool.
  SecretPinned staged_;
  std::atomic<std::uint64_t> blocks_ = 0;
  bool records_ = false;
  std::vector<EntryLaunch> recorded_;
  std::deque<Memory> recorded_memory_;  // of which the launches have addresses
};

}  // namespace paraes::gpu
