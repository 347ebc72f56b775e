#include "src/io/write_back.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "src/io/posix.hpp"

namespace paraes::posix {

void CompleteWindows::add(std::uint64_t offset, std::uint64_t bytes,
                          const std::function<void(std::uint64_t begin)>& found) {
  const std::uint64_t end = offset + bytes;
  while (offset < end) {
    const std::uint64_t window = offset / window_bytes_;
    const std::uint64_t stop = std::min(end, (window + 1) * window_bytes_);
    bool complete = false;
    {
      const std::lock_guard lock(mutex_);
      const auto it = written_.try_emplace(window, 0).first;
      it->second += stop - offset;
      complete = it->second >= window_bytes_;
      if (complete) written_.erase(it);
    }
    if (complete) found(window * window_bytes_);
    offset = stop;
  }
}

void WriteBack::wrote([[maybe_unused]] int descriptor, [[maybe_unused]] std::uint64_t offset,
                      [[maybe_unused]] std::uint64_t bytes,
                      [[maybe_unused]] std::string_view name) {
#ifdef SYNC_FILE_RANGE_WRITE
  windows_.add(offset, bytes, [&](std::uint64_t begin) {
    if (sync_file_range(descriptor, static_cast<off_t>(begin), static_cast<off_t>(window_bytes),
                        SYNC_FILE_RANGE_WRITE) == 0) {
      return;
    }
    // Systems differ in whether fsync would report these again. Whatever else is wrong, fsync still
    // writes everything.
    if (errno == EIO || errno == ENOSPC || errno == EDQUOT) fail("write", name, errno);
  });
#endif
}

}  // namespace paraes::posix
