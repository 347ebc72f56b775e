// Buffers for keys. Their memory is locked (never swapped out) and excluded from core dumps where
// the system allows, and is overwritten with zeros before it is freed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "paraes/export.hpp"

namespace paraes {

// Overwrites `bytes` bytes at `data` with zeros, and the compiler cannot remove that. Inlined, so
// that a block takes one store.
[[gnu::always_inline]] inline void secure_zero(void* data, std::size_t bytes) noexcept {
  if (bytes == 0) return;
  std::memset(data, 0, bytes);
  // The compiler must assume that this reads the memory, and keeps the stores.
  __asm__ volatile("" : : "r"(data) : "memory");
}

// Compares two ranges of equal size in a time that depends only on the size. Ranges of different
// sizes are unequal; sizes are public.
[[nodiscard]] PARAES_EXPORT bool constant_time_equal(std::span<const std::uint8_t> a,
                                                     std::span<const std::uint8_t> b) noexcept;

// Overwrites the vector registers that functions may change, and 16 KiB of stack below the caller's
// frame. Kernels leave round keys and hash keys in these registers, compilers spill them to the
// stack, and the dynamic loader saves them there when a function of a shared library is called for
// the first time. The library calls this when a cipher is destroyed, when its threads have
// finished, and before they sleep.
PARAES_EXPORT void wipe_stack() noexcept;

// A buffer of fixed size for keys and passphrases. Movable, not copyable; zeroised on destruction
// and before a move assignment replaces its contents. Constructors throw std::bad_alloc.
class PARAES_EXPORT SecretBytes {
 public:
  SecretBytes() noexcept = default;
  explicit SecretBytes(std::size_t size);                      // all zero
  explicit SecretBytes(std::span<const std::uint8_t> source);  // a copy
  SecretBytes(SecretBytes&& other) noexcept;
  SecretBytes& operator=(SecretBytes&& other) noexcept;
  SecretBytes(const SecretBytes&) = delete;
  SecretBytes& operator=(const SecretBytes&) = delete;
  ~SecretBytes();

  // The bytes; data() is nullptr if the buffer was made with none.
  [[nodiscard]] std::uint8_t* data() noexcept { return data_; }
  [[nodiscard]] const std::uint8_t* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  // With these, a SecretBytes can be passed as Bytes or MutableBytes.
  [[nodiscard]] std::uint8_t* begin() noexcept { return data_; }
  [[nodiscard]] std::uint8_t* end() noexcept { return data_ + size_; }
  [[nodiscard]] const std::uint8_t* begin() const noexcept { return data_; }
  [[nodiscard]] const std::uint8_t* end() const noexcept { return data_ + size_; }
  [[nodiscard]] std::span<const std::uint8_t> span() const noexcept { return {data(), size_}; }
  [[nodiscard]] std::span<std::uint8_t> span() noexcept { return {data(), size_}; }

  // Keeps the first `size` bytes (at most the present size) and zeroises the rest.
  void truncate(std::size_t size) noexcept;

 private:
  std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace paraes
