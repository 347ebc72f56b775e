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

template <class Call>
Call next(const char* name) {
  return reinterpret_cast<Call>(dlsym(RTLD_NEXT, name));
}

using Malloc = void* (*)(std::size_t);
using Calloc = void* (*)(std::size_t, std::size_t);
using Realloc = void* (*)(void*, std::size_t);
using AlignedAlloc = void* (*)(std::size_t, std::size_t);
using PosixMemalign = int (*)(void**, std::size_t, std::size_t);
using Mmap = void* (*)(void*, std::size_t, int, int, int, off_t);
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

REPLACES void* malloc(std::size_t bytes) {
  static const auto call = next<Malloc>("malloc");
  return fails() ? nullptr : call(bytes);
}

REPLACES void* calloc(std::size_t count, std::size_t bytes) {
  static const auto call = next<Calloc>("calloc");
  return fails() ? nullptr : call(count, bytes);
}

REPLACES void* realloc(void* memory, std::size_t bytes) {
  static const auto call = next<Realloc>("realloc");
  return fails() ? nullptr : call(memory, bytes);
}

REPLACES void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  static const auto call = next<AlignedAlloc>("aligned_alloc");
  return fails() ? nullptr : call(alignment, bytes);
}

REPLACES void* memalign(std::size_t alignment, std::size_t bytes) {
  static const auto call = next<AlignedAlloc>("memalign");
  return fails() ? nullptr : call(alignment, bytes);
}

REPLACES int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) {
  static const auto call = next<PosixMemalign>("posix_memalign");
  return fails() ? ENOMEM : call(memory, alignment, bytes);
}

REPLACES void* mmap(void* address, std::size_t bytes, int protection, int flags, int file,
                    off_t offset) {
  static const auto call = next<Mmap>("mmap");
  return fails() ? MAP_FAILED : call(address, bytes, protection, flags, file, offset);
}

REPLACES void* mmap64(void* address, std::size_t bytes, int protection, int flags, int file,
                      off64_t offset) {
  static const auto call = next<Mmap>("mmap64");
  return fails() ? MAP_FAILED : call(address, bytes, protection, flags, file, offset);
}

REPLACES void* mremap(void* address, std::size_t old_bytes, std::size_t bytes, int flags, ...) {
  static const auto call = next<Mremap>("mremap");
  std::va_list arguments;
  va_start(arguments, flags);
  void* const place = (flags & MREMAP_FIXED) != 0 ? va_arg(arguments, void*) : nullptr;
  va_end(arguments);
  return fails() ? MAP_FAILED : call(address, old_bytes, bytes, flags, place);
}
