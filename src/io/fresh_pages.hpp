// Memory for Sink::write_pages: each page is used once.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>

#include "paraes/ciphers.hpp"
#include "paraes/io.hpp"

namespace paraes {

// Hands out huge pages piece by piece, to any number of threads. A new page costs its clearing,
// which is a third of a copy through a pipe; small pages cost more than the copy, so there are none
// of these.
class FreshPages {
 public:
  struct Piece {
    MutableBytes bytes;
    // Keeps the bytes mapped. A pipe that refers to them needs no mapping.
    std::shared_ptr<std::uint8_t> region;
  };

  // `bytes` bytes that begin with a page, all zero, and that it hands out once only. Empty if the
  // system has no huge page: then it does not ask again.
  [[nodiscard]] Piece take(std::size_t bytes);

 private:
  std::mutex mutex_;
  std::shared_ptr<std::uint8_t> region_;
  std::size_t size_ = 0;
  std::size_t used_ = 0;
  bool refused_ = false;
};

// Memory that one thread fills and writes to a sink, again and again.
class SinkBuffer {
 public:
  // Allocates `bytes` bytes at first. `pages`: if the sink takes pages, or else nullptr.
  SinkBuffer(std::size_t bytes, FreshPages* pages) : own_(bytes), pages_(pages) {}

  // `bytes` bytes: new pages if the sink takes them and they pay, or else from byte `begin` of a
  // page on. What it returned before is invalid.
  [[nodiscard]] MutableBytes take(std::size_t begin, std::size_t bytes);
  // Like take, but never in new pages.
  [[nodiscard]] MutableBytes take_own(std::size_t begin, std::size_t bytes);
  // Appends `data`, a part of the last bytes taken, to the sink. What is small is copied: a pipe
  // would keep a huge page for it.
  void write(Sink& sink, Bytes data) const;

 private:
  IoBuffer own_;
  FreshPages* pages_;
  FreshPages::Piece fresh_;     // the last bytes taken, if they are in such pages
  mutable bool given_ = false;  // to the sink, which may keep them
};

}  // namespace paraes
