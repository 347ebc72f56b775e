// Address space that is far larger than the memory behind it.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <system_error>

#include "paraes/ciphers.hpp"
#include "paraes/io.hpp"

namespace paraes::limits {

// Address space without memory: reading or writing any byte of it is a segmentation fault.
class Forbidden {
 public:
  explicit Forbidden(std::size_t bytes)
      : bytes_(bytes),
        base_(mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    if (base_ == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
  }
  ~Forbidden() { munmap(base_, bytes_); }
  Forbidden(const Forbidden&) = delete;
  Forbidden& operator=(const Forbidden&) = delete;

  [[nodiscard]] std::uint8_t* data() const noexcept { return static_cast<std::uint8_t*>(base_); }
  [[nodiscard]] MutableBytes span(std::size_t bytes) const noexcept { return {data(), bytes}; }

 private:
  std::size_t bytes_;
  void* base_;
};

// One window of memory, mapped again and again at consecutive addresses. Whatever is written to one
// copy is in all of them: read as one range, it repeats; written in order, it keeps what came last.
class RepeatedWindow {
 public:
  static constexpr std::size_t window_bytes = std::size_t{4} << 20;

  explicit RepeatedWindow(std::size_t bytes)
      : copies_((bytes + window_bytes - 1) / window_bytes), space_(copies_ * window_bytes) {
    const Descriptor memory(memfd_create("paraes-limits", MFD_CLOEXEC));
    if (memory.get() < 0 || ftruncate(memory.get(), window_bytes) != 0) fail("memfd_create");
    for (std::size_t i = 0; i < copies_; ++i) {
      void* const copy = mmap(space_.data() + i * window_bytes, window_bytes,
                              PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memory.get(), 0);
      if (copy == MAP_FAILED) fail("mmap");
    }
  }

  [[nodiscard]] MutableBytes span(std::size_t bytes) const noexcept { return space_.span(bytes); }
  // The memory itself.
  [[nodiscard]] MutableBytes window() const noexcept { return space_.span(window_bytes); }

  // After a text of `bytes` bytes was written in order, the window holds what came last at each of
  // its places. Calls check(at, n, offset) for ranges of these: n bytes at `at` of the window come
  // from `offset` of the text.
  template <class Check>
  static void for_what_is_left(std::size_t bytes, Check check) {
    const std::size_t end = bytes % window_bytes;
    constexpr std::size_t most = 65536;
    for (std::size_t at = 0; at < window_bytes;) {
      const std::size_t n = std::min({most, window_bytes - at, at < end ? end - at : most});
      check(at, n, bytes - end - (at < end ? 0 : window_bytes) + at);
      at += n;
    }
  }

 private:
  [[noreturn]] static void fail(const char* call) {
    throw std::system_error(errno, std::generic_category(), call);
  }

  std::size_t copies_;
  Forbidden space_;
};

// Repeats a window for so many bytes, without a size: a pipe.
class RepeatingSource : public Source {
 public:
  RepeatingSource(Bytes window, std::uint64_t bytes) : window_(window), bytes_(bytes) {}

  std::size_t read(MutableBytes buffer) override {
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), bytes_ - at_));
    for (std::size_t done = 0; done < n;) {
      const auto from = static_cast<std::size_t>((at_ + done) % window_.size());
      const std::size_t part = std::min(n - done, window_.size() - from);
      std::copy_n(window_.begin() + static_cast<std::ptrdiff_t>(from), part,
                  buffer.begin() + static_cast<std::ptrdiff_t>(done));
      done += part;
    }
    at_ += n;
    return n;
  }
  [[nodiscard]] std::optional<std::uint64_t> remaining() const override { return std::nullopt; }

 private:
  Bytes window_;
  std::uint64_t bytes_;
  std::uint64_t at_ = 0;
};

}  // namespace paraes::limits
