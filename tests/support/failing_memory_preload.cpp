// A library to preload, together with failing_memory.cpp: allocations fail from number
// PARAES_FAIL_FIRST on, PARAES_FAIL_MOST of them (default: one). The first one that is numbered is
// that of a static object of the program. When main returns, the file PARAES_FAIL_LOG has three
// numbers of 8 bytes: allocations before main, all of them, and those that failed. Programs that
// the program starts are not affected.

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <limits>

#include "tests/support/failing_memory.hpp"

namespace {

using Main = int (*)(int, char**, char**);
using StartMain = int (*)(Main, int, char**, void (*)(), void (*)(), void (*)(), void*);

struct Log {
  long before_main;
  long all;
  long failed;
};

Log unused;
Log* counts = &unused;
Main original = nullptr;

long number_in(const char* name, long otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtol(text, nullptr, 10);
}

void open_log() {
  const char* const path = std::getenv("PARAES_FAIL_LOG");
  const int file = path == nullptr ? -1 : open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return;
  void* const mapped = mmap(nullptr, sizeof(Log), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (mapped != MAP_FAILED) counts = static_cast<Log*>(mapped);
}

int count_main(int count, char** arguments, char** variables) {
  counts->before_main = paraes::support::allocations();
  const int status = original(count, arguments, variables);
  counts->all = paraes::support::allocations();
  counts->failed = paraes::support::failed_allocations();
  return status;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int __libc_start_main(
    Main main, int count, char** arguments, void (*init)(), void (*fini)(), void (*rtld_fini)(),
    void* stack_end) {
  open_log();
  unsetenv("LD_PRELOAD");
  original = main;
  const auto start = reinterpret_cast<StartMain>(dlsym(RTLD_NEXT, "__libc_start_main"));
  paraes::support::fail_allocations(
      number_in("PARAES_FAIL_FIRST", std::numeric_limits<long>::max()),
      number_in("PARAES_FAIL_MOST", 1));
  return start(count_main, count, arguments, init, fini, rtld_fini, stack_end);
}
