#include "src/gpu/secret_memory.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace paraes::gpu {

SecretMemory::~SecretMemory() { wipe_all(); }

SecretMemory& SecretMemory::operator=(SecretMemory&& other) noexcept {
  if (this != &other) {
    wipe_all();
    queue_ = other.queue_;
    memory_ = std::move(other.memory_);
    written_ = other.written_;
  }
  return *this;
}

const Memory& SecretMemory::write(std::size_t bytes) noexcept {
  written_ = std::max(written_, std::min(bytes, memory_.bytes()));
  return memory_;
}

void SecretMemory::wipe() noexcept {
  if (!memory_ || written_ == 0) return;
  try {
    queue_->clear(memory_, 0, written_);
    written_ = 0;
  } catch (...) {  // NOLINT(bugprone-empty-catch): nothing else can be done
  }
}

void SecretMemory::wipe_all() noexcept {
  if (!memory_) return;
  written_ = memory_.bytes();
  wipe();
  queue_->try_finish();
}

std::span<std::uint8_t> SecretPinned::take(Device& device, std::size_t n) {
  if (!device.reads_pinned_memory()) {
    if (locked_.size() < n) locked_ = SecretBytes(n);
    taken_ = std::max(taken_, n);
    return std::span(locked_.data(), n);
  }
  if (!memory_ || memory_->host().size() < n) {
    wipe();
    memory_.reset();
    memory_ = device.allocate_pinned(std::bit_ceil(n), true);
  }
  taken_ = std::max(taken_, n);
  return memory_->host().first(n);
}

void SecretPinned::wipe() noexcept {
  if (taken_ == 0) return;
  std::uint8_t* const data = memory_ ? memory_->host().data() : locked_.data();
  secure_zero(data, taken_);
  taken_ = 0;
}

}  // namespace paraes::gpu
