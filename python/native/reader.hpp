// Reads the plaintext of a message at any offset, and ahead of a caller that reads in order.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "paraes/io.hpp"
#include "paraes/messages.hpp"
#include "python/native/common.hpp"

namespace paraes::python {

// Not for callers that hold the GIL: sources may need it. One caller at a time.
class Reader {
 public:
  // `in_threads`: whether any number of threads may read from the source without the GIL.
  // Authenticates the last segment, so that size() can be trusted.
  Reader(std::unique_ptr<PositionalSource> source, Message message, int threads, bool in_threads);
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // Of the plaintext.
  [[nodiscard]] std::uint64_t size() const noexcept { return extent_.plain_bytes; }

  // For other readers of the message, which this object must outlive.
  [[nodiscard]] const PositionalSource& source() const noexcept { return *source_; }
  [[nodiscard]] const Message& message() const noexcept { return message_; }
  // How many threads may read from the source; 0 for as many as there are cores.
  [[nodiscard]] int source_threads() const noexcept { return in_threads_ ? threads_ : 1; }

  // Fills `out` from `offset` on, and returns how many bytes there were: fewer only at the end.
  // Throws as open_segments does; nothing that is not authentic is in `out`.
  std::size_t read(std::uint64_t offset, MutableBytes out);

  // Overwrites the plaintext that it has.
  void forget() noexcept;

 private:
  // Plaintext of consecutive segments.
  struct Window {
    std::uint64_t begin = 0;
    std::size_t bytes = 0;
    std::unique_ptr<IoBuffer> memory;

    [[nodiscard]] bool holds(std::uint64_t offset) const noexcept {
      return offset >= begin && offset - begin < bytes;
    }
  };

  // Buffers of sealed segments, one for each thread that opens a range.
  using Scratch = std::vector<std::unique_ptr<IoBuffer>>;

  // The thread that opens the next window while the caller uses the present one.
  class Ahead;

  void open_range(std::uint64_t first, std::uint64_t count, MutableBytes plain, int threads,
                  Scratch& scratch) const;
  void fill(Window& window, std::uint64_t first, std::uint64_t count, int threads,
            Scratch& scratch) const;
  [[nodiscard]] std::uint64_t plain_bytes(std::uint64_t first, std::uint64_t count) const noexcept;
  [[nodiscard]] bool take_ahead(std::uint64_t offset);
  void read_ahead(std::uint64_t offset);
  void fill_window(std::uint64_t at, std::uint64_t first, std::size_t bytes, bool in_order,
                   bool direct);
  void forget_parents_thread() noexcept;

  std::unique_ptr<PositionalSource> source_;
  Message message_;
  SegmentLayout::Extent extent_;
  int threads_;
  bool in_threads_;
  unsigned forks_;

  Window window_;
  Scratch scratch_;
  std::uint64_t next_offset_ = 0;      // where a caller that reads in order goes on
  std::uint64_t window_segments_ = 0;  // of the last window; grows while reads are in order
  std::unique_ptr<Ahead> ahead_;
};

}  // namespace paraes::python
