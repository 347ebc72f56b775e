// Memory for keys, and for everything that is computed with them: of a device, and of the host for
// copies to and from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "paraes/secret.hpp"
#include "src/gpu/runtime/runtime.hpp"

namespace paraes::gpu {

// Zeros at first, so that no copy reads bytes that were never written, such as padding. Overwritten
// with zeros before it is freed: by the destructor, or when another object is moved here. wipe()
// overwrites it while it is kept. All this happens on the queue that uses the memory, after the
// work that the queue already has.
class SecretMemory {
 public:
  SecretMemory() noexcept = default;
  // Allocates `bytes` bytes. `queue` must outlive the object. Throws OutOfMemory, or DeviceError if
  // they cannot be cleared.
  SecretMemory(Device& device, Queue& queue, std::size_t bytes)
      : queue_(&queue), memory_(device.allocate(bytes)) {
    queue.clear(memory_, 0, bytes);
  }
  ~SecretMemory();
  SecretMemory(SecretMemory&& other) noexcept = default;
  SecretMemory& operator=(SecretMemory&& other) noexcept;

  [[nodiscard]] std::size_t bytes() const noexcept { return memory_.bytes(); }
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(memory_); }

  // For work that reads the memory.
  [[nodiscard]] const Memory& read() const noexcept { return memory_; }
  // For work that writes no more than the first `bytes` bytes, or that writes anywhere.
  [[nodiscard]] const Memory& write(std::size_t bytes) noexcept;
  [[nodiscard]] const Memory& write() noexcept { return write(memory_.bytes()); }

  // Enqueues the overwriting of what was written since the last call. If that fails, the device is
  // lost, or the next call tries again.
  void wipe() noexcept;

 private:
  void wipe_all() noexcept;

  Queue* queue_ = nullptr;
  Memory memory_;
  std::size_t written_ = 0;  // all bytes that may not be zero
};

// Memory of the host from which EntryLauncher::copy_in() copies secrets to a device: pinned if the
// device can read that, otherwise locked memory, from which the driver copies. Overwritten with
// zeros before it is freed.
class SecretPinned {
 public:
  SecretPinned() noexcept = default;
  ~SecretPinned() { wipe(); }

  // Bytes [0, n), which no pending copy may use if the memory must become larger. Throws
  // OutOfMemory.
  [[nodiscard]] std::span<std::uint8_t> take(Device& device, std::size_t n);
  // The pinned memory that take() returned a part of; nullptr if it is locked memory.
  [[nodiscard]] PinnedMemory* memory() const noexcept { return memory_.get(); }
  // Overwrites what take() returned since the last call. No pending copy may use it.
  void wipe() noexcept;

 private:
  std::unique_ptr<PinnedMemory> memory_;
  SecretBytes locked_;
  std::size_t taken_ = 0;
};

}  // namespace paraes::gpu
