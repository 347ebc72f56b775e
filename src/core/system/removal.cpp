#include "src/core/system/removal.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <thread>

namespace paraes::system {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

std::atomic<Clock::time_point> no_wait_before = Clock::time_point::min();

bool may_be_in_use(int error, int flags) {
  if ((flags & AT_REMOVEDIR) != 0 && (error == ENOTEMPTY || error == EEXIST)) return true;
  return error == EACCES || error == EPERM || error == EBUSY || error == ETXTBSY;
}

bool is_worth_waiting(int folder, int error, int flags) {
  return may_be_in_use(error, flags) && Clock::now() >= no_wait_before.load() &&
         faccessat(folder, ".", W_OK | X_OK, AT_EACCESS) == 0;
}

}  // namespace

bool remove_file(int folder, const char* name, int flags,
                 const std::function<bool()>& is_the_same) noexcept {
  if (unlinkat(folder, name, flags) == 0) return true;
  const int error = errno;
  if (is_worth_waiting(folder, error, flags)) {
    for (milliseconds wait(1); wait <= milliseconds(128); wait *= 2) {
      std::this_thread::sleep_for(wait);
      if (!is_the_same()) break;
      // The answer to the attempt before may have been lost.
      if (unlinkat(folder, name, flags) == 0 || errno == ENOENT) return true;
    }
    no_wait_before = Clock::now() + std::chrono::seconds(2);
  }
  errno = error;
  return false;
}

}  // namespace paraes::system
