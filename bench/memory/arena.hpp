// The buffers of a group of memory variants.
#pragma once

#include <cstddef>
#include <cstdint>

namespace paraes::bench {

// Page-aligned anonymous memory; transparent huge pages are asked for from 2 MiB on. No page is
// touched yet.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t bytes);
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  [[nodiscard]] std::uint8_t* data() const { return data_; }

 private:
  std::uint8_t* data_ = nullptr;
  void* mapping_ = nullptr;
  std::size_t mapped_ = 0;
};

// One input and one output that the variants of a group share: they are of one size, and the
// interleaving would otherwise turn every warm cache cold. Both exist while some variant holds
// them, and are touched first by the threads that use them, with the same partition.
class Arena {
 public:
  Arena(std::uint64_t bytes, int threads) : bytes_(bytes), threads_(threads) {}

  void acquire();  // throws Skip when there is not enough memory
  void release() noexcept;

  [[nodiscard]] const std::uint8_t* in() const { return in_.data(); }
  [[nodiscard]] std::uint8_t* out() const { return out_.data(); }

  void fill_out_with_pattern();  // for runs in place
  void spoil_out();              // so that no run can be right by doing nothing

 private:
  std::uint64_t bytes_;
  int threads_;
  int holders_ = 0;
  Buffer in_;
  Buffer out_;
};

// What the system says it can still give to programs, in bytes.
[[nodiscard]] std::uint64_t available_memory();

// The largest cache of this machine, 32 MiB if it does not say.
[[nodiscard]] std::uint64_t last_level_cache_bytes();

}  // namespace paraes::bench
