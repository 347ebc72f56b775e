#include "paraes/secret.hpp"

#include <cstring>
#include <utility>

#include "src/core/locked_memory.hpp"

namespace paraes {

bool constant_time_equal(std::span<const std::uint8_t> a,
                         std::span<const std::uint8_t> b) noexcept {
  if (a.size() != b.size()) return false;
  std::uint8_t difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<std::uint8_t>(a[i] ^ b[i]);
    // Hides the value from the optimizer, which could otherwise leave the loop early.
    __asm__ volatile("" : "+r"(difference));
  }
  return difference == 0;
}

SecretBytes::SecretBytes(std::size_t size)
    : data_(size != 0 ? static_cast<std::uint8_t*>(allocate_locked(size)) : nullptr),
      size_(size),
      capacity_(size) {}

SecretBytes::SecretBytes(std::span<const std::uint8_t> source) : SecretBytes(source.size()) {
  if (data_ != nullptr) std::memcpy(data_, source.data(), source.size());
}

SecretBytes::SecretBytes(SecretBytes&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      capacity_(std::exchange(other.capacity_, 0)) {}

SecretBytes& SecretBytes::operator=(SecretBytes&& other) noexcept {
  if (this != &other) {
    free_locked(data_, capacity_);
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, 0);
  }
  return *this;
}

SecretBytes::~SecretBytes() { free_locked(data_, capacity_); }

void SecretBytes::truncate(std::size_t size) noexcept {
  if (size >= size_) return;
  secure_zero(data_ + size, size_ - size);
  size_ = size;
}

}  // namespace paraes
