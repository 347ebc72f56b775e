#include "src/core/system/removal.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <thread>

namespace paraes::system {
namespace {

using std::chrono::milliseconds;

// Waits that did not help. A folder where nothing can be removed must not delay each of its files.
std::atomic<int> waits_in_vain = 0;
constexpr int most_in_vain = 4;

bool may_be_in_use(int error, int flags) {
  if ((flags & AT_REMOVEDIR) != 0) return error == ENOTEMPTY || error == EEXIST;
  return error == EACCES || error == EPERM || error == EBUSY || error == ETXTBSY;
}

}  // namespace

bool remove_file(int folder, const char* name, int flags) noexcept {
  for (milliseconds wait(1); unlinkat(folder, name, flags) != 0; wait *= 2) {
    const int error = errno;
    if (!may_be_in_use(error, flags) || waits_in_vain >= most_in_vain ||
        faccessat(folder, ".", W_OK | X_OK, AT_EACCESS) != 0) {
      errno = error;
      return false;
    }
    if (wait > milliseconds(128)) {
      ++waits_in_vain;
      errno = error;
      return false;
    }
    std::this_thread::sleep_for(wait);
  }
  return true;
}

}  // namespace paraes::system
