#include "paraes/device_staging.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "paraes/error.hpp"
#include "src/cipher/open.hpp"
#include "src/core/non_copyable.hpp"
#include "src/gpu/caller_queue.hpp"
#include "src/gpu/context.hpp"
#include "src/gpu/secret_memory.hpp"

namespace paraes {
namespace {

// Page-locked memory that is not in use, for the next object on its device: to lock pages takes as
// long as to copy them. One block for each device, whose context lives as long as the process.
class Parked {
 public:
  [[nodiscard]] std::unique_ptr<gpu::PinnedMemory> take(gpu::DeviceContext& context,
                                                        std::size_t bytes) {
    std::unique_ptr<gpu::PinnedMemory> memory;
    {
      const std::lock_guard lock(mutex_);
      const auto found = blocks_.find(&context);
      if (found != blocks_.end()) memory = std::move(found->second);
    }
    if (memory && memory->host().size() >= bytes) return memory;
    memory.reset();
    memory = context.device().allocate_pinned(bytes, false);
    // The end of a copy may be padding, which nobody writes.
    std::fill(memory->host().begin(), memory->host().end(), std::uint8_t{0});
    return memory;
  }

  // No copy may use it.
  void give_back(gpu::DeviceContext& context, std::unique_ptr<gpu::PinnedMemory> memory) noexcept {
    if (context.info().id.starts_with("opencl")) return;
    try {
      const std::lock_guard lock(mutex_);
      std::unique_ptr<gpu::PinnedMemory>& block = blocks_[&context];
      if (!block || block->host().size() < memory->host().size()) block.swap(memory);
    } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): then it is freed
    }
  }

 private:
  std::mutex mutex_;
  std::map<const gpu::DeviceContext*, std::unique_ptr<gpu::PinnedMemory>> blocks_;
};

Parked& parked() {
  static auto* const all = new Parked;  // never destroyed: drivers may be unloaded before
  return *all;
}

}  // namespace

class DeviceStaging::Impl : NonCopyable {
 public:
  Impl(std::shared_ptr<gpu::DeviceContext> context, std::size_t slots, std::size_t bytes)
      : context_(std::move(context)),
        bytes_((bytes + 15) / 16 * 16),
        pinned_(parked().take(*context_, slots * bytes_)),
        queue_(device().make_queue()),
        slots_(slots) {
    for (Slot& slot : slots_) slot.memory = gpu::SecretMemory(device(), *queue_, bytes_);
  }
  ~Impl() {
    try {
      queue_->finish();
      parked().give_back(*context_, std::move(pinned_));
    } catch (const Error&) {
      static_cast<void>(pinned_.release());  // the device is lost, and may still read it
    }
  }

  [[nodiscard]] std::span<std::uint8_t> host(std::size_t slot) const {
    return pinned_->host().subspan(slot * bytes_, bytes_);
  }

  DeviceBuffer upload(std::size_t slot, std::size_t bytes, const DeviceStream& stream) {
    Slot& used = slots_[slot];
    const std::unique_ptr<gpu::Queue> later = borrow(stream);
    if (used.extracted) queue_->wait_for(*used.extracted);
    used.extracted.reset();
    queue_->upload(used.memory.write(bytes), 0, host(slot).data(), bytes);
    const std::unique_ptr<gpu::Mark> copied = queue_->mark();
    queue_->flush();
    later->wait_for(*copied);
    return {used.memory.read().handle(), 0, bytes};
  }

  void extract(std::size_t slot, std::size_t begin, const DeviceBuffer& out, std::size_t bytes,
               const DeviceStream& stream) {
    Slot& used = slots_[slot];
    const std::unique_ptr<gpu::Queue> queue = borrow(stream);
    const gpu::Memory to = gpu::Memory::view(out.memory, out.offset + out.bytes);
    queue->copy(to, out.offset, used.memory.read(), begin, out.bytes);
    queue->clear(used.memory.read(), 0, bytes);
    used.extracted = queue->mark();
    queue->flush();
  }

  void finish(const DeviceStream& stream) {
    const std::unique_ptr<gpu::Queue> caller = borrow(stream);
    try {
      queue_->finish();
    } catch (...) {
      caller->try_finish();
      throw;
    }
    caller->finish();
  }

 private:
  struct Slot {
    gpu::SecretMemory memory;              // after a failure, it may have plaintext
    std::unique_ptr<gpu::Mark> extracted;  // nullptr: no extract() since the last upload()
  };

  [[nodiscard]] gpu::Device& device() const { return context_->device(); }
  [[nodiscard]] std::unique_ptr<gpu::Queue> borrow(const DeviceStream& stream) const {
    return gpu::borrow(device(), stream.handle);
  }

  std::shared_ptr<gpu::DeviceContext> context_;
  std::size_t bytes_;
  std::unique_ptr<gpu::PinnedMemory> pinned_;  // of all slots
  std::unique_ptr<gpu::Queue> queue_;
  std::vector<Slot> slots_;
};

DeviceStaging::DeviceStaging(const DeviceStream& stream, const DeviceOptions& options,
                             std::size_t slots, std::size_t bytes)
    : impl_(std::make_unique<Impl>(
          gpu::open_context_of(stream,
                               detail::select_gpu_kernel(options.kernel, options.allow_leaky)),
          slots, bytes)) {}
DeviceStaging::~DeviceStaging() = default;
DeviceStaging::DeviceStaging(DeviceStaging&&) noexcept = default;
DeviceStaging& DeviceStaging::operator=(DeviceStaging&&) noexcept = default;

std::span<std::uint8_t> DeviceStaging::host(std::size_t slot) const { return impl_->host(slot); }
DeviceBuffer DeviceStaging::upload(std::size_t slot, std::size_t bytes,
                                   const DeviceStream& stream) {
  return impl_->upload(slot, bytes, stream);
}
void DeviceStaging::extract(std::size_t slot, std::size_t begin, const DeviceBuffer& out,
                            std::size_t bytes, const DeviceStream& stream) {
  impl_->extract(slot, begin, out, bytes, stream);
}
void DeviceStaging::finish(const DeviceStream& stream) { impl_->finish(stream); }

}  // namespace paraes
