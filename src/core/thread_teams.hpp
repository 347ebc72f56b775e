// Threads that compute: they are started once, and wait between the operations they work on.
#pragma once

#include <pthread.h>

#include <atomic>

#include "paraes/threads.hpp"

namespace paraes {

// A callable that takes the number of a run. It refers to the callable and does not copy it.
class RunRef {
 public:
  RunRef() = default;
  template <class F>
  explicit RunRef(const F& f) noexcept
      : object_(&f),
        call_([](const void* object, unsigned run) { (*static_cast<const F*>(object))(run); }) {}

  void operator()(unsigned run) const { call_(object_, run); }

 private:
  const void* object_ = nullptr;
  void (*call_)(const void* object, unsigned run) = nullptr;
};

// Calls body(0) … body(runs - 1) on n = `runs` threads, of which the caller is the first, and
// returns when all have ended. Run r is on thread r. Where the system does not start so many
// threads, n is smaller, and run r is on thread r mod n.
//
// Between calls the threads wait, first spinning for some microseconds, then asleep. The next call
// of the same caller finds each run on the thread it was on before. Callers at the same time, and a
// body that calls this itself, have threads of their own.
//
// `body` must not throw, and must not return in a child that it has forked. A child that was forked
// elsewhere starts threads of its own.
void run_on_threads(unsigned runs, RunRef body) noexcept;

// Starts a thread. Kernels and copies need a few KiB of stack, and the usual 8 MiB is much where
// address space is limited. False if the system starts no more.
enum class Join { yes, no };
[[nodiscard]] bool start_thread_with(pthread_t& thread, StackSize stack, Join join,
                                     void* (*work)(void*), void* argument) noexcept;

// pthread_create. Tests put a function here that fails.
using StartThread = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
extern std::atomic<StartThread> start_thread;

}  // namespace paraes
