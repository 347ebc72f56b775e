// Host buffers of the cases in memory and transfer scope.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "paraes/io.hpp"

namespace paraes::bench {

struct Unmap {
  std::size_t bytes = 0;
  void operator()(void* mapping) const noexcept;
};

// Page-aligned anonymous memory, none of whose pages has been touched. From 2 MiB on it is aligned
// to 2 MiB, and the system is advised to use huge pages (not for shared memory: see collapse()).
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t bytes);
  // Memory that other processes can map by its path(), while this buffer exists.
  [[nodiscard]] static Buffer shared(std::size_t bytes);
  // Memory that `keeper` keeps.
  Buffer(std::shared_ptr<void> keeper, std::uint8_t* data)
      : keeper_(std::move(keeper)), data_(data) {}
  // Maps another process's shared memory by its path(). Throws IoError if that is not permitted.
  Buffer(const std::string& path, std::size_t bytes);

  [[nodiscard]] std::uint8_t* data() const { return data_; }
  // Empty unless the memory is shared.
  [[nodiscard]] std::string path() const;
  // Backs these bytes with huge pages, as far as the system can. For shared memory, where advice
  // has no effect under the usual setting of shmem_enabled.
  void collapse(std::size_t offset, std::size_t bytes) const;

 private:
  void map(std::size_t bytes);
  void map_file(std::size_t bytes);

  std::unique_ptr<void, Unmap> mapping_;
  std::shared_ptr<void> keeper_;
  std::uint8_t* data_ = nullptr;  // in what is mapped or kept
  Descriptor file_;
};

// One input and one output buffer that all cases of a group share. With separate buffers, the
// interleaved cases would evict each other's data from the caches. The buffers exist from the first
// hold() on. Their pages are first touched by `threads` threads, in the ranges of the timed work
// (in XTS, borders may differ by less than a data unit).
class Arena {
 public:
  enum class Memory {
    own,
    shared  // with other processes on this machine
  };

  Arena(std::uint64_t bytes, int threads, Memory memory = Memory::own)
      : bytes_(bytes), threads_(threads), memory_(memory) {}
  // Uses buffers that allocate() returns.
  Arena(std::uint64_t bytes, std::function<Buffer()> allocate)
      : bytes_(bytes), threads_(1), memory_(Memory::own), allocate_(std::move(allocate)) {}

  // hold() and fill(). Throws Skip if there is not enough memory.
  void acquire();
  // Allocates the buffers, unless they are there, without touching them, so that other processes
  // can touch their ranges first. Throws Skip if there is not enough memory.
  void hold();
  // Fills the input with the pattern and the output with other bytes, unless that is done.
  void fill();

  [[nodiscard]] const std::uint8_t* in() const { return in_.data(); }
  [[nodiscard]] std::uint8_t* out() const { return out_.data(); }
  // For set_up() only: what a case writes here, all that share the arena read.
  [[nodiscard]] std::uint8_t* writable_in() const { return in_.data(); }
  [[nodiscard]] const Buffer& in_buffer() const { return in_; }
  [[nodiscard]] const Buffer& out_buffer() const { return out_; }

  void fill_out_with_pattern();  // the input of in-place work
  void spoil_out();              // makes a call that writes nothing detectable

 private:
  std::uint64_t bytes_;
  int threads_;
  Memory memory_;
  std::function<Buffer()> allocate_;
  bool filled_ = false;
  Buffer in_;
  Buffer out_;
};

}  // namespace paraes::bench
