// Keys that work on data in device memory, on queues of the caller's. The public classes
// (device_ciphers.cpp) have checked the arguments.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "paraes/ciphers.hpp"
#include "paraes/devices.hpp"
#include "src/core/bytes.hpp"
#include "src/core/non_copyable.hpp"
#include "src/gpu/caller_queue.hpp"
#include "src/gpu/context.hpp"
#include "src/gpu/key_material.hpp"
#include "src/modes/gcm.hpp"

namespace paraes {

class DeviceWork::End : NonCopyable {
 public:
  End(std::shared_ptr<gpu::DeviceContext> context, std::shared_ptr<const gpu::Mark> mark) noexcept
      : context_(std::move(context)), mark_(std::move(mark)) {}
  [[nodiscard]] bool passed() const { return !mark_ || mark_->passed(); }

 private:
  std::shared_ptr<gpu::DeviceContext> context_;  // outlives the mark
  std::shared_ptr<const gpu::Mark> mark_;
};

// The verdicts of one gcm_decrypt(), in pinned memory that the device writes.
class DeviceVerdict::Pending : NonCopyable {
 public:
  Pending(std::shared_ptr<gpu::PinnedPool> pool, std::size_t messages)
      : pool_(std::move(pool)), places_(messages) {}
  ~Pending() {
    for (auto& part : parts_) pool_->give_back(std::move(part.memory), std::move(part.mark));
  }

  // The verdicts of messages with these numbers, in this order.
  void add(gpu::CallerQueue::Verdicts verdicts, std::span<const std::uint32_t> numbers) {
    const auto part = static_cast<std::uint32_t>(parts_.size());
    parts_.push_back(std::move(verdicts));
    for (std::uint32_t i = 0; i < numbers.size(); ++i) places_[numbers[i]] = {part, i};
  }

  [[nodiscard]] bool ready() const {
    return std::ranges::all_of(parts_, [](const auto& part) { return part.mark->passed(); });
  }
  // 16 bytes per message: 1 or 0 in the first four, little-endian, once it is ready.
  [[nodiscard]] bool intact(std::size_t index) const {
    const auto& [part, at] = places_[index];
    const auto bytes = parts_[part].memory->host();
    return load_le32(bytes.data() + std::size_t{16} * at) == 1;
  }
  [[nodiscard]] std::size_t messages() const noexcept { return places_.size(); }

 private:
  std::shared_ptr<gpu::PinnedPool> pool_;
  std::vector<gpu::CallerQueue::Verdicts> parts_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> places_;  // part, and number there
};

namespace detail {

using DeviceTexts = std::span<const DeviceText>;

class DeviceCipherImpl {
 public:
  // The keys are at least one, all of one size. Waits until they are expanded. `stream` is that of
  // calls that name none.
  DeviceCipherImpl(std::shared_ptr<gpu::DeviceContext> context, DeviceStream stream,
                   std::vector<std::unique_ptr<gpu::KeyMaterial>> keys);

  [[nodiscard]] const DeviceInfo& info() const noexcept { return context_->info(); }
  // Whether each buffer has an address space of its own.
  [[nodiscard]] bool is_opencl() const { return info().id.rfind("opencl", 0) == 0; }
  [[nodiscard]] std::string_view kernel() const noexcept {
    return context_->variant().kernel->name;
  }
  [[nodiscard]] std::size_t keys() const noexcept { return keys_.size(); }

  // A call on a stream, or on that of the constructor if its device is empty. The device begins
  // soon after the end of the object.
  class Call : NonCopyable {
   public:
    Call(std::shared_ptr<gpu::DeviceContext> context, gpu::CallerQueue& queue) noexcept
        : context_(std::move(context)), queue_(&queue) {}
    // After a failure, waits for what was enqueued: nobody else would know when it ends.
    ~Call() {
      if (queue_ == nullptr) return;
      queue_->end();
      queue_->queue().try_finish();
    }
    [[nodiscard]] gpu::CallerQueue& queue() const noexcept { return *queue_; }
    // Ends it now.
    [[nodiscard]] DeviceWork end() {
      auto mark = std::exchange(queue_, nullptr)->end();
      return DeviceWork(
          std::make_shared<const DeviceWork::End>(std::move(context_), std::move(mark)));
    }

   private:
    std::shared_ptr<gpu::DeviceContext> context_;
    gpu::CallerQueue* queue_;
  };
  // Throws InvalidArgument if the stream cannot be used.
  [[nodiscard]] Call begin(const DeviceStream& stream) {
    return {context_, queues_.begin(handle_of(stream))};
  }
  // DeviceCipher::wait_for().
  void wait_for(const DeviceStream& other, const DeviceStream& stream);
  // For measurements.
  [[nodiscard]] gpu::CallerQueues& queues() noexcept { return queues_; }

  // Runs an entry that does not need the input after it has written the output of a block.
  void run(gpu::CallerQueue& queue, const char* entry, DeviceTexts texts);
  void cbc_decrypt(gpu::CallerQueue& queue, DeviceTexts texts);
  void xts(gpu::CallerQueue& queue, Direction direction, std::size_t unit_bytes, DeviceTexts texts);
  void gcm_encrypt(gpu::CallerQueue& queue, DeviceTexts texts);
  [[nodiscard]] std::shared_ptr<const DeviceVerdict::Pending> gcm_decrypt(gpu::CallerQueue& queue,
                                                                          DeviceTexts texts);

 private:
  // Texts that one launch can reach: where all memory has one address space, all of them.
  class Reach;

  [[nodiscard]] void* handle_of(const DeviceStream& stream) const;
  // Calls `work(reach)` for texts that lie in the same memory, until there is none left.
  void for_each_reach(DeviceTexts texts, const auto& work) const;
  [[nodiscard]] gpu::GcmWork plan(Direction direction, const Reach& reach);
  void add_ranges(const paraes_message& whole, gpu::GcmWork& work) const;
  void put_addend(const DeviceText& text, paraes_gcm_end& end);

  std::shared_ptr<gpu::DeviceContext> context_;
  DeviceStream stream_;
  std::vector<std::unique_ptr<gpu::KeyMaterial>> keys_;
  std::vector<std::unique_ptr<const GcmKey>> cpu_keys_;  // for associated data, made when needed
  gpu::CallerQueues queues_;
};

}  // namespace detail
}  // namespace paraes
