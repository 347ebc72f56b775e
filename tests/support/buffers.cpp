#include "tests/support/buffers.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <system_error>

#include "tests/support/hex.hpp"

namespace paraes::support {

GuardedBuffer::GuardedBuffer(std::size_t capacity)
    : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))),
      capacity_((capacity + page_ - 1) / page_ * page_) {
  void* memory =
      mmap(nullptr, capacity_ + 2 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
  base_ = static_cast<std::uint8_t*>(memory);
  if (mprotect(base_ + page_, capacity_, PROT_READ | PROT_WRITE) != 0) {
    throw std::system_error(errno, std::generic_category(), "mprotect");
  }
}

GuardedBuffer::~GuardedBuffer() { munmap(base_, capacity_ + 2 * page_); }

MutableBytes GuardedBuffer::place(std::size_t bytes, Flush flush) const {
  if (bytes > capacity_) throw std::length_error("GuardedBuffer: more bytes than its capacity");
  std::uint8_t* first = base_ + page_;
  return {flush == Flush::start ? first : first + capacity_ - bytes, bytes};
}

MutableBytes GuardedBuffer::place(Bytes source, Flush flush) const {
  const MutableBytes placed = place(source.size(), flush);
  std::copy(source.begin(), source.end(), placed.begin());
  return placed;
}

std::string difference(Bytes actual, Bytes expected) {
  if (actual.size() != expected.size()) {
    return std::to_string(actual.size()) + " bytes instead of " + std::to_string(expected.size());
  }
  if (actual.empty() || std::memcmp(actual.data(), expected.data(), actual.size()) == 0) return {};
  const auto at = static_cast<std::size_t>(
      std::mismatch(actual.begin(), actual.end(), expected.begin()).first - actual.begin());
  const std::size_t n = std::min<std::size_t>(16, actual.size() - at);
  return "of " + std::to_string(actual.size()) + " bytes, byte " + std::to_string(at) +
         " is the first that differs: " + to_hex(actual.subspan(at, n)) + " instead of " +
         to_hex(expected.subspan(at, n));
}

}  // namespace paraes::support
