// Threads for computation. They are started once and wait between operations.
#pragma once

#include <pthread.h>

#include <atomic>

#include "paraes/threads.hpp"

namespace paraes {

// Refers to a callable that takes the number of a task, without copying it.
class TaskRef {
 public:
  TaskRef() = default;
  template <class F>
  explicit TaskRef(const F& f) noexcept
      : object_(&f),
        call_([](const void* object, unsigned task) { (*static_cast<const F*>(object))(task); }) {}

  void operator()(unsigned task) const { call_(object_, task); }

 private:
  const void* object_ = nullptr;
  void (*call_)(const void* object, unsigned task) = nullptr;
};

// Calls body(0) … body(tasks - 1) on n = `tasks` threads, and returns when all calls have ended.
// Task t runs on thread t; thread 0 is the caller. If the system cannot start as many threads, or
// thread_limit() is lower, n is smaller, and task t runs on thread t mod n.
//
// Between calls the threads wait: they spin for some microseconds, then sleep. In successive calls
// by one caller, a task runs on the same thread each time. Concurrent callers have separate
// threads, and so has a body that calls this function itself.
//
// `body` must not throw, and must not return in a child process that it has forked. A child process
// starts new threads.
void run_on_threads(unsigned tasks, TaskRef body) noexcept;

// Starts a thread. Returns false if the system cannot start another one. A small stack is enough
// for kernels and copies, which need a few KiB.
enum class Join { yes, no };
[[nodiscard]] bool start_thread_with(pthread_t& thread, StackSize stack, Join join,
                                     void* (*work)(void*), void* argument) noexcept;

// `count` threads, or as many as thread_limit() allows.
[[nodiscard]] unsigned limited_threads(unsigned count) noexcept;

// pthread_create, or a function that fails, which tests put here.
using StartThread = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
extern std::atomic<StartThread> start_thread;

}  // namespace paraes
