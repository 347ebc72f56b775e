#include "src/gpu/runtime/runtime.hpp"

#include <array>
#include <cstdio>

namespace paraes::gpu {

std::string bus_address(unsigned domain, unsigned bus, unsigned device, unsigned function) {
  std::array<char, 48> text{};
  static_cast<void>(
      std::snprintf(text.data(), text.size(), "%04x:%02x:%02x.%x", domain, bus, device, function));
  return text.data();
}

void Queue::try_finish() noexcept try {
  finish();
} catch (...) {  // NOLINT(bugprone-empty-catch): nothing else can be done
}

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
