// Lets a thread of a test wait until other threads have come so far.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace paraes::support {

class EventCount {
 public:
  void add() {
    const std::lock_guard lock(mutex_);
    ++count_;
    changed_.notify_all();
  }

  // Waits for `count` events. False if there are fewer after a time that is long enough for any
  // machine.
  [[nodiscard]] bool wait_for(unsigned count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(30), [&] { return count_ >= count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  unsigned count_ = 0;
};

}  // namespace paraes::support
