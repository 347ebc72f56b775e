#include "cli/side_by_side.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <vector>

namespace paraes::cli {
namespace {

class Work {
 public:
  Work(std::size_t count, const std::function<void(std::size_t)>& body)
      : count_(count), body_(body) {}

  void run() noexcept {
    try {
      for (std::size_t i = next_++; i < count_; i = next_++) body_(i);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      failure_ = std::current_exception();
    }
  }

  static void* run_thread(void* work) {
    static_cast<Work*>(work)->run();
    return nullptr;
  }

  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  const std::size_t count_;
  const std::function<void(std::size_t)>& body_;
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;
  std::exception_ptr failure_;
};

}  // namespace

void side_by_side(std::size_t threads, std::size_t count, bool small_stacks,
                  const std::function<void(std::size_t)>& body) {
  Work work(count, body);
  const std::size_t wanted = std::min(threads, count);
  std::vector<pthread_t> started;
  started.reserve(wanted);
  pthread_attr_t attributes;
  if (wanted > 1 && pthread_attr_init(&attributes) == 0) {
    if (small_stacks) pthread_attr_setstacksize(&attributes, std::size_t{1} << 20);
    pthread_t thread = {};
    while (started.size() + 1 < wanted &&
           pthread_create(&thread, &attributes, Work::run_thread, &work) == 0) {
      started.push_back(thread);
    }
    pthread_attr_destroy(&attributes);
  }
  work.run();
  for (const pthread_t thread : started) pthread_join(thread, nullptr);
  work.rethrow();
}

}  // namespace paraes::cli
