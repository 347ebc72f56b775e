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

}  // namespace

// Shortens a function that the next library has. Its arguments are those given, with `n` bytes.
#define PARAES_SHORTENED(name, parameters, ...)                                                \
  extern "C" __attribute__((visibility("default"))) ssize_t name parameters {                  \
    static const auto call = reinterpret_cast<ssize_t(*) parameters>(dlsym(RTLD_NEXT, #name)); \
    return shortened(size, [&](std::size_t n) { return call(__VA_ARGS__); });                  \
  }

PARAES_SHORTENED(read, (int file, void* data, std::size_t size), file, data, n)
PARAES_SHORTENED(write, (int file, const void* data, std::size_t size), file, data, n)
PARAES_SHORTENED(pread, (int file, void* data, std::size_t size, off_t at), file, data, n, at)
PARAES_SHORTENED(pread64, (int file, void* data, std::size_t size, off64_t at), file, data, n, at)
PARAES_SHORTENED(pwrite, (int file, const void* data, std::size_t size, off_t at), file, data, n,
                 at)
PARAES_SHORTENED(pwrite64, (int file, const void* data, std::size_t size, off64_t at), file, data,
                 n, at)
PARAES_SHORTENED(copy_file_range,
                 (int from, off64_t* at, int to, off64_t* target, std::size_t size, unsigned flags),
                 from, at, to, target, n, flags)
