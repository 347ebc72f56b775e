// A library to preload, with which reads, writes and copies behave as badly as they may: each moves
// at most 100 bytes, and about one in eight fails with EINTR. PARAES_SHORT_IO_SEED selects another
// sequence.

#include <dlfcn.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace {

constexpr std::uint64_t interrupted_one_in = 8;
constexpr std::uint64_t max_bytes = 100;

// splitmix64 of a counter, the only state that threads share.
std::uint64_t random_bits() {
  static const std::uint64_t seed = [] {
    const char* text = std::getenv("PARAES_SHORT_IO_SEED");
    return text == nullptr ? 1 : std::strtoull(text, nullptr, 10);
  }();
  static std::atomic<std::uint64_t> count = 0;
  std::uint64_t x = (seed << 32) + ++count * 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

template <class Call>
Call next(const char* name) {
  return reinterpret_cast<Call>(dlsym(RTLD_NEXT, name));
}

// Calls `call` with 1 to max_bytes bytes, but not more than `size`; or fails with EINTR.
template <class Call>
ssize_t shortened(std::size_t size, const Call& call) {
  const std::uint64_t bits = random_bits();
  if (bits % interrupted_one_in == 0) {
    errno = EINTR;
    return -1;
  }
  return call(std::min<std::size_t>(size, 1 + (bits >> 8) % max_bytes));
}

using Read = ssize_t (*)(int, void*, std::size_t);
using ReadAt = ssize_t (*)(int, void*, std::size_t, off64_t);
using Write = ssize_t (*)(int, const void*, std::size_t);
using WriteAt = ssize_t (*)(int, const void*, std::size_t, off64_t);
using CopyRange = ssize_t (*)(int, off64_t*, int, off64_t*, std::size_t, unsigned);

ssize_t read_at(int descriptor, void* data, std::size_t size, off64_t offset) {
  static const auto call = next<ReadAt>("pread64");
  return shortened(size, [&](std::size_t n) { return call(descriptor, data, n, offset); });
}

ssize_t write_at(int descriptor, const void* data, std::size_t size, off64_t offset) {
  static const auto call = next<WriteAt>("pwrite64");
  return shortened(size, [&](std::size_t n) { return call(descriptor, data, n, offset); });
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) ssize_t read(int descriptor, void* data, std::size_t size) {
  static const auto call = next<Read>("read");
  return shortened(size, [&](std::size_t n) { return call(descriptor, data, n); });
}

__attribute__((visibility("default"))) ssize_t write(int descriptor, const void* data,
                                                     std::size_t size) {
  static const auto call = next<Write>("write");
  return shortened(size, [&](std::size_t n) { return call(descriptor, data, n); });
}

__attribute__((visibility("default"))) ssize_t pread(int descriptor, void* data, std::size_t size,
                                                     off_t offset) {
  return read_at(descriptor, data, size, offset);
}

__attribute__((visibility("default"))) ssize_t pread64(int descriptor, void* data, std::size_t size,
                                                       off64_t offset) {
  return read_at(descriptor, data, size, offset);
}

__attribute__((visibility("default"))) ssize_t pwrite(int descriptor, const void* data,
                                                      std::size_t size, off_t offset) {
  return write_at(descriptor, data, size, offset);
}

__attribute__((visibility("default"))) ssize_t pwrite64(int descriptor, const void* data,
                                                        std::size_t size, off64_t offset) {
  return write_at(descriptor, data, size, offset);
}

__attribute__((visibility("default"))) ssize_t copy_file_range(int from, off64_t* at, int to,
                                                               off64_t* target, std::size_t size,
                                                               unsigned flags) {
  static const auto call = next<CopyRange>("copy_file_range");
  return shortened(size, [&](std::size_t n) { return call(from, at, to, target, n, flags); });
}
}
