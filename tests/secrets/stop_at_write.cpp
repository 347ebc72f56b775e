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

void count() {
  static const unsigned long at = [] {
    const char* text = std::getenv("PARAES_STOP_AT");
    return text == nullptr ? 0 : std::strtoul(text, nullptr, 10);
  }();
  static std::atomic<unsigned long> calls = 0;
  if (++calls == at) kill(getpid(), SIGSTOP);
}

}  // namespace

// Counts the calls of a function that the next library has.
#define PARAES_COUNTED(name, parameters, ...)                                                  \
  extern "C" __attribute__((visibility("default"))) ssize_t name parameters {                  \
    static const auto call = reinterpret_cast<ssize_t(*) parameters>(dlsym(RTLD_NEXT, #name)); \
    count();                                                                                   \
    return call(__VA_ARGS__);                                                                  \
  }

PARAES_COUNTED(pwrite, (int file, const void* data, std::size_t size, off_t at), file, data, size,
               at)
PARAES_COUNTED(pwrite64, (int file, const void* data, std::size_t size, off64_t at), file, data,
               size, at)
PARAES_COUNTED(copy_file_range,
               (int from, off64_t* at, int to, off64_t* target, std::size_t size, unsigned flags),
               from, at, to, target, size, flags)
