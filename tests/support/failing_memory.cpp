#include "tests/support/failing_memory.hpp"

#include <dlfcn.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/types.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdlib>
#include <limits>

namespace {

std::atomic<long> calls = 0;
std::atomic<long> failures = 0;
std::atomic<long> first_failure = std::numeric_limits<long>::max();
std::atomic<long> most_failures = 0;

// Whether this call is to fail. Sets errno.
bool fails() {
  const long number = ++calls;
  if (number < first_failure || number - first_failure >= most_failures) return false;
  ++failures;
  errno = ENOMEM;
  return true;
}

using Mremap = void* (*)(void*, std::size_t, std::size_t, int, void*);

}  // namespace

namespace paraes::support {

void fail_allocations(long first, long most) {
  first_failure = std::numeric_limits<long>::max();
  most_failures = most;
  calls = 0;
  failures = 0;
  first_failure = first;
}

long allocations() { return calls; }
long failed_allocations() { return failures; }

}  // namespace paraes::support

#define REPLACES extern "C" __attribute__((visibility("default")))

// Defines a function that fails when it is to, and else calls the next library's.
#define FAILING(Result, name, failed, parameters, arguments)                                  \
  REPLACES Result name parameters {                                                           \
    static const auto call = reinterpret_cast<Result(*) parameters>(dlsym(RTLD_NEXT, #name)); \
    return fails() ? failed : call arguments;                                                 \
  }

FAILING(void*, malloc, nullptr, (std::size_t bytes), (bytes))
FAILING(void*, calloc, nullptr, (std::size_t count, std::size_t bytes), (count, bytes))
FAILING(void*, realloc, nullptr, (void* memory, std::size_t bytes), (memory, bytes))
FAILING(void*, aligned_alloc, nullptr, (std::size_t alignment, std::size_t bytes),
        (alignment, bytes))
FAILING(void*, memalign, nullptr, (std::size_t alignment, std::size_t bytes), (alignment, bytes))
FAILING(int, posix_memalign, ENOMEM, (void** memory, std::size_t alignment, std::size_t bytes),
        (memory, alignment, bytes))
FAILING(void*, mmap, MAP_FAILED,
        (void* address, std::size_t bytes, int protection, int flags, int file, off_t offset),
        (address, bytes, protection, flags, file, offset))
FAILING(void*, mmap64, MAP_FAILED,
        (void* address, std::size_t bytes, int protection, int flags, int file, off64_t offset),
        (address, bytes, protection, flags, file, offset))

REPLACES void* mremap(void* address, std::size_t old_bytes, std::size_t bytes, int flags, ...) {
  static const auto call = reinterpret_cast<Mremap>(dlsym(RTLD_NEXT, "mremap"));
  std::va_list arguments;
  va_start(arguments, flags);
  void* const place = (flags & MREMAP_FIXED) != 0 ? va_arg(arguments, void*) : nullptr;
  va_end(arguments);
  return fails() ? MAP_FAILED : call(address, old_bytes, bytes, flags, place);
}
