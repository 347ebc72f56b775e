// Test data, and buffers that detect writes outside of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "paraes/ciphers.hpp"

namespace paraes::support {

using Buffer = std::vector<std::uint8_t>;

// Bytes that repeat with period 251. This has no factor in common with any block size or vector
// width, so a test notices when two blocks change places.
inline std::vector<std::uint8_t> pattern(std::size_t bytes, unsigned first = 0) {
  std::vector<std::uint8_t> data(bytes);
  unsigned value = first % 251;
  for (std::uint8_t& b : data) {
    b = static_cast<std::uint8_t>(value);
    value = value == 250 ? 0 : value + 1;
  }
  return data;
}

// A pseudo-random key. Its two halves differ, as XTS requires.
inline std::vector<std::uint8_t> make_key(std::size_t bytes, unsigned seed = 1) {
  std::vector<std::uint8_t> key(bytes);
  std::uint32_t state = 2463534242U + seed * 77777U;
  for (std::uint8_t& b : key) {
    state ^= state << 13;  // xorshift32
    state ^= state >> 17;
    state ^= state << 5;
    b = static_cast<std::uint8_t>(state >> 11);
  }
  return key;
}

// Memory from the heap at a chosen distance from a 64-byte boundary, with a margin of known bytes
// on both sides.
class PlacedBuffer {
 public:
  static constexpr std::size_t margin = 128;

  explicit PlacedBuffer(std::size_t bytes, std::size_t misalignment = 0)
      : bytes_(bytes),
        whole_(bytes + 2 * margin + 64),
        base_(static_cast<std::uint8_t*>(::operator new (whole_, std::align_val_t{64}))),
        start_(base_ + margin + misalignment % 64) {
    std::fill(base_, base_ + whole_, filler);
  }
  ~PlacedBuffer() { ::operator delete (base_, std::align_val_t{64}); }
  PlacedBuffer(const PlacedBuffer&) = delete;
  PlacedBuffer& operator=(const PlacedBuffer&) = delete;

  [[nodiscard]] std::uint8_t* data() noexcept { return start_; }
  [[nodiscard]] MutableBytes span() noexcept { return {start_, bytes_}; }
  void fill(Bytes source) { std::copy(source.begin(), source.end(), start_); }

  // Whether no byte outside of span() has changed.
  [[nodiscard]] bool margins_intact() const {
    const auto is_filler = [](std::uint8_t b) { return b == filler; };
    return std::all_of(base_, start_, is_filler) &&
           std::all_of(start_ + bytes_, base_ + whole_, is_filler);
  }

 private:
  static constexpr std::uint8_t filler = 0xd5;

  std::size_t bytes_;
  std::size_t whole_;
  std::uint8_t* base_;
  std::uint8_t* start_;
};

// Memory between two inaccessible pages. A placed range begins directly after the first page or
// ends directly before the second, so that reading or writing one byte too many is a segmentation
// fault.
class GuardedBuffer {
 public:
  enum class Flush { start, end };

  explicit GuardedBuffer(std::size_t capacity);
  ~GuardedBuffer();
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;

  // A range of `bytes` bytes, or one that holds a copy of `source`. Ranges of one buffer overlap.
  [[nodiscard]] MutableBytes place(std::size_t bytes, Flush flush) const;
  [[nodiscard]] MutableBytes place(Bytes source, Flush flush) const;

 private:
  std::uint8_t* base_;
  std::size_t page_;
  std::size_t capacity_;  // whole pages
};

// Empty if the ranges are equal, else a description of the first difference.
[[nodiscard]] std::string difference(Bytes actual, Bytes expected);

}  // namespace paraes::support
