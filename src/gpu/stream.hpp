// A queue of a device with the buffers and keys that its launches need. Several streams of one
// device overlap: while one copies to the device, another computes and a third copies back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "paraes/ciphers.hpp"
#include "paraes/phase_times.hpp"
#include "src/gpu/device/host_job.hpp"
#include "src/gpu/entry_launcher.hpp"
#include "src/gpu/key_material.hpp"
#include "src/gpu/key_slots.hpp"
#include "src/gpu/launches.hpp"
#include "src/gpu/queue_timer.hpp"
#include "src/gpu/runtime/runtime.hpp"

namespace paraes::gpu {

class DeviceContext;

// Everything is enqueued in order, and nothing is known to be done before finish(). For one thread
// at a time. Any call that talks to the device throws DeviceError when that fails; after that,
// settle() makes the stream usable again, if the device is.
class Stream {
 public:
  // For launches of up to launch_bytes of text, staged through page-locked host memory.
  Stream(DeviceContext& context, std::size_t launch_bytes, Transfer transfer);
  // For data in device memory: launches work from `in` to `out`, which outlive the stream. There is
  // nothing to stage, and launches can be repeated.
  Stream(DeviceContext& context, const Memory& in, const Memory& out, std::size_t max_messages);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Host memory from which stage_in takes the input of the next launches, and into which stage_out
  // brings their output. nullptr for data in device memory.
  [[nodiscard]] std::uint8_t* input() noexcept { return in_host_; }
  [[nodiscard]] std::uint8_t* output() noexcept { return out_host_; }

  // Most messages of one launch.
  [[nodiscard]] std::size_t max_messages() const noexcept { return launches_.max_messages(); }

  // The key of the launches that follow; it is expanded unless the stream has it. `key` stays valid
  // until forget_key() or the next use_key().
  void use_key(const KeyMaterial& key);
  // Wipes the key if it has this id.
  void forget_key(std::uint64_t id) { keys_.forget(id); }

  // For messages with keys of their own, of GCM: until forget_keys(), launch() and launch_hash()
  // take message.key as an index into `keys`, at most context.most_keys() of one size, which all
  // hash. forget_keys() waits for what is under way, and wipes the keys; the one of use_key()
  // stays.
  void use_keys(std::span<const KeyMaterial* const> keys) { keys_.use_many(keys); }
  void forget_keys() noexcept { keys_.forget_many(); }

  // Copies the first `bytes` of input() to the device; with mapped memory, makes them visible.
  void stage_in(std::size_t bytes);
  // See Launches.
  void launch(const char* entry, std::span<paraes_message> messages, unsigned more_blocks = 0) {
    launches_.run(entry, buffers(), messages, more_blocks);
  }
  void launch_hash(std::size_t messages) { launches_.hash(buffers(), messages); }
  void launch_xts(Direction direction, paraes_message& message, std::uint32_t unit_blocks,
                  const std::uint8_t* unit_tweak) {
    launches_.xts(buffers(), direction, message, unit_blocks, unit_tweak);
  }
  void stage_out(std::size_t bytes);
  // Only for data in device memory: launches all that was launched since use_key() once more, on
  // the messages of the last launch.
  void repeat() { launches_.repeat(); }
  // Waits until everything is done; then output() has what the launches computed.
  void finish();

  // For a stream that somebody gives back, perhaps because of an exception: waits for what is under
  // way, which may read the caller's memory. If not all of it is known to be done, the stream
  // forgets its key.
  void settle() noexcept;

  // What finish() has added up since the last call.
  [[nodiscard]] PhaseTimes take_times() noexcept { return timer_.take(); }

  // How many launches it has made, for tests.
  [[nodiscard]] std::uint64_t launches() const noexcept { return launcher_.launches(); }

 private:
  [[nodiscard]] LaunchBuffers buffers();

  std::unique_ptr<Queue> queue_;
  QueueTimer timer_;
  EntryLauncher launcher_;
  KeySlots keys_;
  Launches launches_;
  Transfer transfer_;
  std::unique_ptr<PinnedMemory> in_pinned_;
  std::unique_ptr<PinnedMemory> out_pinned_;
  std::uint8_t* in_host_ = nullptr;
  std::uint8_t* out_host_ = nullptr;
  Memory in_staged_;
  Memory out_staged_;
  const Memory* in_device_ = nullptr;  // data in device memory
  const Memory* out_device_ = nullptr;
};

}  // namespace paraes::gpu
