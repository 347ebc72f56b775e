// A library to preload. The process stops (SIGSTOP) at its write number PARAES_STOP_AT to a file,
// counted from 1, with all threads wherever they are. Counts writes at offsets and copies of
// ranges, as sinks use them.

#include <dlfcn.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdlib>

namespace {

template <class Call>
Call next(const char* name) {
  return reinterpret_cast<Call>(dlsym(RTLD_NEXT, name));
}

void count() {
  static const unsigned long at = [] {
    const char* text = std::getenv("PARAES_STOP_AT");
    return text == nullptr ? 0 : std::strtoul(text, nullptr, 10);
  }();
  static std::atomic<unsigned long> calls = 0;
  if (++calls == at) kill(getpid(), SIGSTOP);
}

using WriteAt = ssize_t (*)(int, const void*, std::size_t, off64_t);
using Copy = ssize_t (*)(int, off64_t*, int, off64_t*, std::size_t, unsigned);

ssize_t write_at(int descriptor, const void* data, std::size_t size, off64_t offset) {
  static const auto call = next<WriteAt>("pwrite64");
  count();
  return call(descriptor, data, size, offset);
}

}  // namespace

#define PARAES_REPLACES extern "C" __attribute__((visibility("default"))) ssize_t

PARAES_REPLACES pwrite(int descriptor, const void* data, std::size_t size, off_t offset) {
  return write_at(descriptor, data, size, offset);
}

PARAES_REPLACES pwrite64(int descriptor, const void* data, std::size_t size, off64_t offset) {
  return write_at(descriptor, data, size, offset);
}

PARAES_REPLACES copy_file_range(int from, off64_t* at, int to, off64_t* target, std::size_t size,
                                unsigned flags) {
  static const auto call = next<Copy>("copy_file_range");
  count();
  return call(from, at, to, target, size, flags);
}
