// A library to preload, which limits how many threads a program can start: after PARAES_FEW_THREADS
// of them (default: none), pthread_create() fails with EAGAIN. Only threads that the program,
// libstdc++ or libgomp starts are counted and refused, so that other libraries, such as MPI, work.

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace {

bool counts(const void* caller) {
  Dl_info info = {};
  if (dladdr(caller, &info) == 0 || info.dli_fname == nullptr) return true;
  if (std::strstr(info.dli_fname, ".so") == nullptr) return true;  // the program itself
  return std::strstr(info.dli_fname, "libstdc++") != nullptr ||
         std::strstr(info.dli_fname, "libgomp") != nullptr;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int pthread_create(pthread_t* thread,
                                                                     const pthread_attr_t* options,
                                                                     void* (*work)(void*),
                                                                     void* argument) {
  static const char* const limit = std::getenv("PARAES_FEW_THREADS");
  static std::atomic<long> left = limit != nullptr ? std::strtol(limit, nullptr, 10) : 0;
  if (counts(__builtin_return_address(0)) && left-- <= 0) return EAGAIN;
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  return reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"))(thread, options, work,
                                                                      argument);
}
