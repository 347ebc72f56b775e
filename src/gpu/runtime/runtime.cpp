#include "src/gpu/runtime/runtime.hpp"

#include <utility>

namespace paraes::gpu {

Memory::~Memory() {
  if (device_ != nullptr) device_->release(handle_);
}

Memory::Memory(Memory&& other) noexcept
    : device_(std::exchange(other.device_, nullptr)),
      handle_(std::exchange(other.handle_, 0)),
      bytes_(std::exchange(other.bytes_, 0)) {}

Memory& Memory::operator=(Memory&& other) noexcept {
  if (this != &other) {
    if (device_ != nullptr) device_->release(handle_);
    device_ = std::exchange(other.device_, nullptr);
    handle_ = std::exchange(other.handle_, 0);
    bytes_ = std::exchange(other.bytes_, 0);
  }
  return *this;
}

}  // namespace paraes::gpu
