// Keys that work on data in device memory, on a queue of the caller's. The public classes
// (device_ciphers.cpp) have checked the arguments.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "paraes/ciphers.hpp"
#include "paraes/devices.hpp"
#include "src/core/bytes.hpp"
#include "src/gpu/caller_queue.hpp"
#include "src/gpu/context.hpp"
#include "src/gpu/key_material.hpp"
#include "src/modes/gcm.hpp"

namespace paraes {

// The verdicts of one gcm_decrypt(), in pinned memory that the device writes.
class DeviceVerdict::Pending {
 public:
  Pending(std::shared_ptr<gpu::PinnedPool> pool, gpu::CallerQueue::Verdicts verdicts,
          std::size_t messages)
      : pool_(std::move(pool)), verdicts_(std::move(verdicts)), messages_(messages) {}
  ~Pending() {
    if (verdicts_.memory) {
      pool_->give_back(std::move(verdicts_.memory), std::move(verdicts_.mark));
    }
  }

  [[nodiscard]] bool ready() const { return verdicts_.mark == nullptr || verdicts_.mark->passed(); }
  // 16 bytes a message: 1 or 0 in the first four, little-endian, once it is ready.
  [[nodiscard]] bool intact(std::size_t index) const {
    return load_le32(verdicts_.memory->host().data() + 16 * index) == 1;
  }
  [[nodiscard]] std::size_t messages() const noexcept { return messages_; }

 private:
  std::shared_ptr<gpu::PinnedPool> pool_;
  gpu::CallerQueue::Verdicts verdicts_;  // empty if there are no messages
  std::size_t messages_;
};

namespace detail {

class DeviceCipherImpl {
 public:
  // The keys are at least one, all of one size. Waits until they are expanded.
  DeviceCipherImpl(std::shared_ptr<gpu::DeviceContext> context, std::unique_ptr<gpu::Queue> queue,
                   std::vector<std::unique_ptr<gpu::KeyMaterial>> keys);

  [[nodiscard]] const DeviceInfo& info() const noexcept { return context_->info(); }
  // Whether each buffer has an address space of its own.
  [[nodiscard]] bool is_opencl() const { return info().id.rfind("opencl", 0) == 0; }
  [[nodiscard]] std::string_view kernel() const noexcept {
    return context_->variant().kernel->name;
  }
  [[nodiscard]] std::size_t keys() const noexcept { return keys_.size(); }
  [[nodiscard]] gpu::CallerQueue& queue() noexcept { return queue_; }

  // All of these make the device begin soon.
  // Runs an entry that does not need the input after it has written the output of a block.
  void run(const char* entry, const DeviceBuffer& in, const DeviceBuffer& out,
           std::span<const DeviceMessage> messages);
  void cbc_decrypt(const DeviceBuffer& in, const DeviceBuffer& out,
                   std::span<const DeviceMessage> messages);
  void xts(Direction direction, std::size_t unit_bytes, const DeviceBuffer& in,
           const DeviceBuffer& out, std::span<const DeviceMessage> messages);
  void gcm_encrypt(const DeviceBuffer& in, const DeviceBuffer& out,
                   std::span<const DeviceMessage> messages);
  [[nodiscard]] std::shared_ptr<const DeviceVerdict::Pending> gcm_decrypt(
      const DeviceBuffer& in, const DeviceBuffer& out, std::span<const DeviceMessage> messages);

 private:
  [[nodiscard]] bool same_place(const DeviceBuffer& in, const DeviceBuffer& out,
                                const DeviceMessage& message) const;
  [[nodiscard]] gpu::LaunchBuffers buffers(const DeviceBuffer& in, const DeviceBuffer& out);
  [[nodiscard]] gpu::GcmWork plan(Direction direction, const DeviceBuffer& in,
                                  const DeviceBuffer& out, std::span<const DeviceMessage> messages);
  void add_ranges(const paraes_message& whole, gpu::GcmWork& work) const;
  void put_addend(const DeviceMessage& message, paraes_gcm_end& end);

  std::shared_ptr<gpu::DeviceContext> context_;
  std::vector<std::unique_ptr<gpu::KeyMaterial>> keys_;
  std::vector<std::unique_ptr<const GcmKey>> cpu_keys_;  // for associated data, made when needed
  gpu::Memory in_;                                       // of the last call
  gpu::Memory out_;
  gpu::CallerQueue queue_;
};

}  // namespace detail
}  // namespace paraes
