// The buffers of a group of memory variants.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "paraes/io.hpp"

namespace paraes::bench {

// Page-aligned anonymous memory; transparent huge pages are asked for from 2 MiB on. No page is
// touched yet.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t bytes);
  // Memory that other processes can map, by its path() while this buffer exists.
  [[nodiscard]] static Buffer shared(std::size_t bytes);
  // The memory of another process with this path; throws Error if this process may not have it.
  Buffer(const std::string& path, std::size_t bytes);
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  [[nodiscard]] std::uint8_t* data() const { return data_; }
  // Of shared memory, otherwise empty.
  [[nodiscard]] std::string path() const;
  // Has huge pages made of these bytes of shared memory, touched or not, where the system can: for
  // it no advice does (unless shmem_enabled says so).
  void collapse(std::size_t offset, std::size_t bytes) const;

 private:
  void map(std::size_t bytes);
  void map_file(std::size_t bytes);

  std::uint8_t* data_ = nullptr;
  void* mapping_ = nullptr;
  std::size_t mapped_ = 0;
  Descriptor file_;
};

// One input and one output that the variants of a group share: they are of one size, and the
// interleaving would otherwise turn every warm cache cold. Both exist while some variant holds
// them, and are touched first by the threads that use them, with the same partition.
class Arena {
 public:
  enum class Memory {
    own,
    shared  // with other processes of this machine
  };

  Arena(std::uint64_t bytes, int threads, Memory memory = Memory::own)
      : bytes_(bytes), threads_(threads), memory_(memory) {}

  // hold() and fill(). Throws Skip when there is not enough memory.
  void acquire();
  // Makes the buffers, untouched, so that other processes can be the first to touch their parts.
  void hold();
  // Fills both, once.
  void fill();
  void release() noexcept;

  [[nodiscard]] const std::uint8_t* in() const { return in_.data(); }
  [[nodiscard]] std::uint8_t* out() const { return out_.data(); }
  [[nodiscard]] const Buffer& in_buffer() const { return in_; }
  [[nodiscard]] const Buffer& out_buffer() const { return out_; }

  void fill_out_with_pattern();  // for runs in place
  void spoil_out();              // so that no run can be right by doing nothing

 private:
  std::uint64_t bytes_;
  int threads_;
  Memory memory_;
  int holders_ = 0;
  bool filled_ = false;
  Buffer in_;
  Buffer out_;
};

// What the system says it can still give to programs, in bytes.
[[nodiscard]] std::uint64_t available_memory();

}  // namespace paraes::bench
