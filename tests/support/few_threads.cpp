// Preloaded into a program, it makes a system that gives a process few threads: after
// PARAES_FEW_THREADS of them (default: none) no more can be started. Those of other libraries than
// the ones that start threads for a program, such as MPI's, do not count.

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
                                                                     const pthread_attr_t* how,
                                                                     void* (*work)(void*),
                                                                     void* argument) {
  static const char* const most = std::getenv("PARAES_FEW_THREADS");
  static std::atomic<long> left = most != nullptr ? std::strtol(most, nullptr, 10) : 0;
  if (counts(__builtin_return_address(0)) && left-- <= 0) return EAGAIN;
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  return reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"))(thread, how, work, argument);
}
