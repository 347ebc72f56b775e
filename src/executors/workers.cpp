#include "executors/workers.hpp"

#include <new>
#include <system_error>
#include <thread>
#include <vector>

namespace paraes {

void run_workers(unsigned count, const std::function<void(unsigned)>& body) {
  std::vector<std::thread> threads;
  threads.reserve(count);
  for (unsigned i = 1; i < count; ++i) {
    try {
      threads.emplace_back(std::cref(body), i);
    } catch (const std::system_error&) {
      break;  // a limit on threads: those that there are do all the work
    } catch (const std::bad_alloc&) {
      break;
    }
  }
  body(0);
  for (std::thread& thread : threads) thread.join();
}

bool Sequence::wait_turn(std::uint64_t number) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return turn_ == number || failed_ < number; });
  return failed_ >= number;
}

void Sequence::done(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  turn_ = number + 1;
  changed_.notify_all();
}

void Sequence::fail(std::uint64_t number) noexcept {
  const std::lock_guard lock(mutex_);
  if (number < failed_) {
    failed_ = number;
    error_ = std::current_exception();
  }
  changed_.notify_all();
}

bool Sequence::stopped(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  return failed_ < number;
}

void Sequence::rethrow() {
  const std::lock_guard lock(mutex_);
  if (error_) std::rethrow_exception(error_);
}

}  // namespace paraes
