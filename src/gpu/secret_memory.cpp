#include "src/gpu/secret_memory.hpp"

#include <algorithm>
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
  try {
    queue_->finish();
  } catch (...) {  // NOLINT(bugprone-empty-catch): the device is lost, and its memory with it
  }
}

}  // namespace paraes::gpu
