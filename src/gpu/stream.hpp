// A queue of a device, with the buffers and keys that its launches need. The streams of a device
// overlap: while one copies to the device, another computes and a third copies back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "paraes/ciphers.hpp"
#include "paraes/phase_times.hpp"
#include "src/gpu/device/host_job.hpp"
#include "src/gpu/key_material.hpp"
#include "src/gpu/launches.hpp"
#include "src/gpu/runtime/runtime.hpp"
#include "src/gpu/secret_memory.hpp"

namespace paraes::gpu {

class DeviceContext;

// Work is enqueued in order, and only finish() guarantees that it is done. Only one thread at a
// time may use a stream. Any call that uses the device throws DeviceError if that fails. After a
// failure, settle() makes the stream usable again, if the device still is.
class Stream {
 public:
  // For launches of up to launch_bytes of text, in pinned host memory.
  Stream(DeviceContext& context, std::size_t launch_bytes, Transfer transfer);
  ~Stream();

  // Pinned host memory: stage_in() copies the input of the next launches from input(), and
  // stage_out() copies their output to output().
  [[nodiscard]] std::uint8_t* input() noexcept { return in_host_; }
  [[nodiscard]] std::uint8_t* output() noexcept { return out_host_; }
  // The bytes of each.
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] static std::size_t capacity_for(std::size_t launch_bytes) noexcept;
  [[nodiscard]] Transfer transfer() const noexcept { return transfer_; }

  // Most messages of one launch.
  [[nodiscard]] static std::size_t most_messages(std::size_t launch_bytes) noexcept;

  // Sets the key of the launches that follow. Unless the stream already holds it, wipes the old
  // key, as forget_key() does, and expands the new one. `key` must stay valid until forget_key() or
  // the next use_key().
  void use_key(const KeyMaterial& key);
  // If the stream's key has this id, wipes it and what the stream has computed with it from the
  // memory of the device, and waits until that is done.
  void forget_key(std::uint64_t id);

  // For GCM messages with different keys: until forget_keys(), launch() and launch_hash() use
  // message.key as an index into `keys`, which are at most context.most_keys(), of one size, and
  // all expanded in the same place. forget_keys() waits for pending work and wipes these keys and
  // what was computed with them, but not the key of use_key().
  void use_keys(std::span<const KeyMaterial* const> keys) { launches_.keys().use_many(keys); }
  void forget_keys() noexcept;

  // The next launch copies the first `bytes` bytes of input() to the device, or makes mapped memory
  // visible to it. It writes as many bytes at most, and a tag or hash of each message.
  void stage_in(std::size_t bytes) noexcept { to_stage_ = {.bytes = bytes}; }
  // The next launch copies `bytes` bytes from byte `begin` of input() to the beginning of the
  // device's buffer, and writes the first out_bytes bytes of the other one. `begin` is 0 for mapped
  // memory.
  void stage_in(std::size_t begin, std::size_t bytes, std::size_t out_bytes) noexcept {
    to_stage_ = {begin, bytes, out_bytes};
  }
  // Like stage_in(bytes), but copies from page-locked memory of the caller, which must not change
  // until finish() or settle(). Adds zeros up to whole blocks. Not for mapped memory.
  void copy_in_from(const std::uint8_t* from, std::size_t bytes) noexcept {
    to_stage_ = {.bytes = bytes, .from = from};
  }
  // Like copy_in_from(), for a launch that writes out_bytes bytes.
  void copy_in_from(const std::uint8_t* from, std::size_t bytes, std::size_t out_bytes) noexcept {
    to_stage_ = {.bytes = bytes, .out_bytes = out_bytes, .from = from};
  }
  // See Launches::run(), hash() and xts().
  void launch(const char* entry, std::span<paraes_message> messages) {
    launches_.prepare(messages, true);
    copy_in();
    launches_.run_prepared(entry, buffers(messages.size()));
  }
  void launch_hash(std::size_t messages) { launches_.hash(buffers(messages), messages); }
  void launch_xts(Direction direction, paraes_message& message, std::uint32_t unit_blocks,
                  const std::uint8_t* unit_tweak) {
    launches_.prepare({&message, 1}, false);
    copy_in();
    launches_.run_prepared_xts(buffers(1), direction, message, unit_blocks, unit_tweak);
  }
  // Copies the first `bytes` bytes of the device's buffer to byte `begin` of output(), 0 for mapped
  // memory.
  void stage_out(std::size_t bytes, std::size_t begin = 0);
  // Copies the first `bytes` bytes of the device's buffer to page-locked memory of the caller, and
  // from the next whole block up to byte `end` to the same place of output(). Not for mapped
  // memory.
  void copy_out_to(std::uint8_t* to, std::size_t bytes, std::size_t end);
  // Waits until all work is done. output() then holds what the launches computed.
  void finish();

  // Called when a lease ends, perhaps because of an exception. Waits for pending work, which may
  // read and write the caller's memory, and wipes as forget_key() does if some of that work may
  // have failed.
  void settle() noexcept;

  // The times that finish() has added up since the last call.
  [[nodiscard]] PhaseTimes take_times() noexcept { return launches_.timer().take(); }

  // How many launches it has made, for tests.
  [[nodiscard]] std::uint64_t launches() const noexcept { return launches_.launcher().launches(); }

 private:
  [[nodiscard]] LaunchBuffers buffers(std::size_t messages);
  // Copies the text, after the messages that describe it. In the other order, their few bytes would
  // wait for the texts of other streams, and the kernel for them.
  void copy_in();
  // Enqueues the wiping of the key of use_key() and of everything computed with any key.
  void wipe() noexcept;
  void wipe_results() noexcept;

  std::unique_ptr<Queue> queue_;
  std::size_t capacity_;
  Launches launches_;
  Transfer transfer_;
  std::unique_ptr<PinnedMemory> in_pinned_;
  std::unique_ptr<PinnedMemory> out_pinned_;
  std::uint8_t* in_host_ = nullptr;
  std::uint8_t* out_host_ = nullptr;
  SecretMemory in_staged_;
  SecretMemory out_staged_;
  struct Staged {
    std::size_t begin = 0;
    std::size_t bytes = 0;
    std::optional<std::size_t> out_bytes = {};
    const std::uint8_t* from = nullptr;  // nullptr: input()
  };
  std::optional<Staged> to_stage_;  // what the next launch copies
  Staged staged_;                   // what the last one has copied
};

}  // namespace paraes::gpu
