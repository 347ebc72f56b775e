#include "src/core/workers.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include "paraes/secret.hpp"
#include "src/core/thread_teams.hpp"

namespace paraes {
namespace {

struct WorkerThread {
  const std::function<void(unsigned)>* body = nullptr;
  unsigned number = 0;
  pthread_t thread = {};

  static void* run(void* worker) {
    const WorkerThread& own = *static_cast<WorkerThread*>(worker);
    (*own.body)(own.number);
    wipe_stack();  // the system may give it to another thread
    return nullptr;
  }
};

}  // namespace

void run_workers(unsigned count, const std::function<void(unsigned)>& body, StackSize stack) {
  count = std::max(1U, limited_threads(count));
  std::vector<WorkerThread> workers(count);
  unsigned started = 1;  // the caller
  for (; started < count; ++started) {
    WorkerThread& worker = workers[started];
    worker = {&body, started, {}};
    if (!start_thread_with(worker.thread, stack, Join::yes, WorkerThread::run, &worker)) break;
  }
  body(0);
  wipe_stack();
  for (unsigned i = 1; i < started; ++i) pthread_join(workers[i].thread, nullptr);
}

bool TurnQueue::wait_turn(std::uint64_t number) {
  std::unique_lock lock(mutex_);
  changed_of(number).wait(lock, [&] { return turn_ == number || failed_ < number; });
  return failed_ >= number;
}

void TurnQueue::done(std::uint64_t number) {
  {
    const std::lock_guard lock(mutex_);
    turn_ = number + 1;
  }
  changed_of(number + 1).notify_all();
}

void TurnQueue::fail(std::uint64_t number) noexcept {
  const std::lock_guard lock(mutex_);
  if (number < failed_) {
    failed_ = number;
    error_ = std::current_exception();
  }
  for (std::condition_variable& changed : changed_) changed.notify_all();
}

bool TurnQueue::stopped(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  return failed_ < number;
}

void TurnQueue::rethrow() {
  const std::lock_guard lock(mutex_);
  if (error_) std::rethrow_exception(error_);
}

void for_each_job(unsigned workers, std::uint64_t count,
                  const std::function<void(unsigned worker, std::uint64_t job)>& body,
                  StackSize stack) {
  std::atomic<std::uint64_t> next = 0;
  TurnQueue jobs;
  const auto work = [&](unsigned worker) {
    for (std::uint64_t job = next++; job < count && !jobs.stopped(job); job = next++) {
      try {
        body(worker, job);
      } catch (...) {
        jobs.fail(job);
      }
    }
  };
  run_workers(static_cast<unsigned>(std::min<std::uint64_t>(workers, count)), work, stack);
  jobs.rethrow();
}

}  // namespace paraes
