// Memory for Sink::write_pages: each page is used once.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>

#include "paraes/ciphers.hpp"

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

}  // namespace paraes
