// Work on queues of the caller's, over device memory of the caller's.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "paraes/devices.hpp"
#include "src/core/non_copyable.hpp"
#include "src/gpu/context.hpp"
#include "src/gpu/device_names.hpp"
#include "src/gpu/key_material.hpp"
#include "src/gpu/launches.hpp"
#include "src/gpu/pinned_pool.hpp"
#include "src/gpu/runtime/runtime.hpp"
#include "src/gpu/secret_memory.hpp"

namespace paraes::gpu {

// Passes everything on to another queue, which can be replaced.
class RoutedQueue final : public Queue {
 public:
  explicit RoutedQueue(Queue& to) noexcept : to_(&to) {}
  void route(Queue& to) noexcept { to_ = &to; }

  void upload(const Memory& to, std::size_t offset, const void* from, std::size_t bytes) override {
    to_->upload(to, offset, from, bytes);
  }
  void download(void* to, const Memory& from, std::size_t offset, std::size_t bytes) override {
    to_->download(to, from, offset, bytes);
  }
  void clear(const Memory& memory, std::size_t offset, std::size_t bytes) override {
    to_->clear(memory, offset, bytes);
  }
  void copy(const Memory& to, std::size_t to_offset, const Memory& from, std::size_t from_offset,
            std::size_t bytes) override {
    to_->copy(to, to_offset, from, from_offset, bytes);
  }
  void launch(Function& function, const Grid& grid, std::span<const Argument> arguments) override {
    to_->launch(function, grid, arguments);
  }
  [[nodiscard]] std::unique_ptr<Mark> mark() override { return to_->mark(); }
  void wait_for(const Mark& mark) override { to_->wait_for(mark); }
  [[nodiscard]] std::uint64_t nanoseconds(const Mark& from, const Mark& to) override {
    return to_->nanoseconds(from, to);
  }
  void flush() override { to_->flush(); }
  [[nodiscard]] void* handle() const noexcept override { return to_->handle(); }
  [[nodiscard]] bool is_captured() override { return to_->is_captured(); }
  void finish() override { to_->finish(); }

 private:
  Queue* to_;
};

// Memory for calls on queues of the caller's: for their messages, and for intermediate results.
// Calls that share it run one after another, whatever their queues are.
class CallerQueue : NonCopyable {
 public:
  // `own`: of the library, for what must not wait for the caller.
  CallerQueue(DeviceContext& context, Queue& own, const SharedByQueues& shared);
  ~CallerQueue();

  // Begins a call on a queue of the caller's, which has this handle.
  void begin(std::unique_ptr<Queue> caller, void* handle);
  // Ends it, also after a failure: what it has enqueued then is unspecified. Returns the end of its
  // work; nullptr if that has been waited for, or the device is lost.
  std::shared_ptr<const Mark> end() noexcept;

  // Whether the last call was on a queue with this handle. It may have been another queue: one that
  // no longer exists, or that of another thread (cudaStreamPerThread).
  [[nodiscard]] bool was_on(void* handle) const noexcept { return caller_ && handle_ == handle; }
  // Whether the device has done all of its work.
  [[nodiscard]] bool is_idle() const noexcept;
  // The number of its last call among those of all queues.
  [[nodiscard]] std::uint64_t turn() const noexcept { return turn_; }
  void set_turn(std::uint64_t turn) noexcept { turn_ = turn; }

  [[nodiscard]] Launches& launches() noexcept { return launches_; }
  [[nodiscard]] Queue& queue() noexcept { return queue_; }

  // CBC decryption of messages whose `in` and `out` are the same place in `buffer`.
  void cbc_decrypt_in_place(const Memory& buffer, std::span<const paraes_message> messages);

  // A mark after the work so far, and pinned memory that will hold the verdicts of the last
  // Launches::gcm() on `messages` messages, 16 bytes each.
  struct Verdicts {
    std::unique_ptr<PinnedMemory> memory;
    std::unique_ptr<Mark> mark;
  };
  [[nodiscard]] Verdicts download_verdicts(std::size_t messages);

 private:
  DeviceContext& context_;
  Queue& own_;
  PinnedPool& pinned_;
  RoutedQueue queue_;
  Launches launches_;
  SecretMemory copies_;            // of texts in place, allocated when first needed
  std::unique_ptr<Queue> caller_;  // of the last call, with this handle
  void* handle_ = nullptr;
  std::shared_ptr<const Mark> last_;  // the end of the last call; nullptr if nothing is pending
  std::uint64_t turn_ = 0;
};

// The keys of a cipher, and its calls on any queues of the caller's on one device. Calls enqueue
// and return. Only the constructor and the destructor wait. After a call has failed, the object can
// be used again if the device still can.
class CallerQueues : NonCopyable {
 public:
  // Waits until the keys, at least one, are expanded. They must outlive the object.
  CallerQueues(std::shared_ptr<DeviceContext> context,
               std::span<const std::unique_ptr<KeyMaterial>> keys);
  // Waits for the work, and wipes keys and what was computed with them.
  ~CallerQueues();

  // Other keys, when no call is on the way. As the constructor.
  void use_keys(std::span<const std::unique_ptr<KeyMaterial>> keys);

  [[nodiscard]] const std::shared_ptr<PinnedPool>& pinned() noexcept { return pinned_; }

  // Begins a call on the queue with this handle, in memory of an earlier call on that queue, or of
  // one that has ended; else in new memory. If there are calls on most_queues queues, the device
  // delays this one until the earliest of them has ended. Throws as borrow().
  [[nodiscard]] CallerQueue& begin(void* handle);
  static constexpr std::size_t most_queues = 8;

  // For calls on a queue of the library, without begin() and end().
  [[nodiscard]] CallerQueue& on_own();

 private:
  void add_queue();
  [[nodiscard]] CallerQueue& choose(void* handle);

  std::shared_ptr<DeviceContext> context_;
  std::shared_ptr<PinnedPool> pinned_;
  std::unique_ptr<Queue> own_;
  QueueTimer timer_;
  EntryLauncher launcher_;
  KeySlots keys_;
  std::vector<std::unique_ptr<CallerQueue>> queues_;
  std::unique_ptr<CallerQueue> on_own_;
  std::uint64_t turns_ = 0;
};

// A queue of the caller's, which is not being captured: a graph would run work again, with the same
// nonces. Throws InvalidArgument as Device::borrow_queue(), and for one that is.
[[nodiscard]] std::unique_ptr<Queue> borrow(Device& device, void* handle);

// A device with the program of `kernel`, without streams of its own. `names` has one device.
// Throws Unavailable, DeviceError, and what variant_for and load_program throw.
[[nodiscard]] std::shared_ptr<DeviceContext> open_context(const DeviceNames& names,
                                                          const GpuKernel& kernel,
                                                          const VariantOptions& options = {});
// The device of a stream or queue of the caller's. Ciphers on one device share it. Throws as
// open_context(), and InvalidArgument.
[[nodiscard]] std::shared_ptr<DeviceContext> open_context_of(const DeviceStream& stream,
                                                             const GpuKernel& kernel);

}  // namespace paraes::gpu
