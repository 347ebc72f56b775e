#include "paraes/device_staging.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "src/cipher/open.hpp"
#include "src/core/non_copyable.hpp"
#include "src/gpu/caller_queue.hpp"
#include "src/gpu/context.hpp"

namespace paraes {

class DeviceStaging::Impl : NonCopyable {
 public:
  Impl(std::shared_ptr<gpu::DeviceContext> context, std::size_t slots, std::size_t bytes)
      : context_(std::move(context)), slots_(slots), queue_(context_->device().make_queue()) {
    for (Slot& slot : slots_) {
      slot.pinned = device().allocate_pinned(bytes, false);
      // The end of a copy may be padding, which nobody writes.
      std::fill(slot.pinned->host().begin(), slot.pinned->host().end(), std::uint8_t{0});
      slot.memory = device().allocate(bytes);
    }
  }
  ~Impl() { queue_->try_finish(); }

  [[nodiscard]] std::span<std::uint8_t> host(std::size_t slot) const {
    return slots_[slot].pinned->host();
  }

  DeviceBuffer upload(std::size_t slot, std::size_t bytes, const DeviceStream& stream) {
    Slot& used = slots_[slot];
    const std::unique_ptr<gpu::Queue> later = borrow(stream);
    if (used.extracted) queue_->wait_for(*used.extracted);
    used.extracted.reset();
    queue_->upload(used.memory, 0, used.pinned->host().data(), bytes);
    const std::unique_ptr<gpu::Mark> copied = queue_->mark();
    queue_->flush();
    later->wait_for(*copied);
    return {used.memory.handle(), 0, bytes};
  }

  void extract(std::size_t slot, std::size_t begin, const DeviceBuffer& out, std::size_t bytes,
               const DeviceStream& stream) {
    Slot& used = slots_[slot];
    const std::unique_ptr<gpu::Queue> queue = borrow(stream);
    const gpu::Memory to = gpu::Memory::view(out.memory, out.offset + out.bytes);
    queue->copy(to, out.offset, used.memory, begin, out.bytes);
    queue->clear(used.memory, 0, bytes);
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
    std::unique_ptr<gpu::PinnedMemory> pinned;
    gpu::Memory memory;
    std::unique_ptr<gpu::Mark> extracted;  // nullptr: no extract() since the last upload()
  };

  [[nodiscard]] gpu::Device& device() const { return context_->device(); }
  [[nodiscard]] std::unique_ptr<gpu::Queue> borrow(const DeviceStream& stream) const {
    return gpu::borrow(device(), stream.handle);
  }

  std::shared_ptr<gpu::DeviceContext> context_;
  std::vector<Slot> slots_;
  std::unique_ptr<gpu::Queue> queue_;
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
