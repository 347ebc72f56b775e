#include "src/io/write_back.hpp"

#include <algorithm>
#include <cerrno>

#include "src/io/calls.hpp"
#include "src/io/system/files.hpp"

namespace paraes::calls {

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

void WriteBack::wrote(int descriptor, std::uint64_t offset, std::uint64_t bytes,
                      std::string_view name) {
  windows_.add(offset, bytes, [&](std::uint64_t begin) {
    if (system::start_writing(descriptor, begin, window_bytes)) return;
    // Systems differ in whether fsync would report these again. Whatever else is wrong, fsync still
    // writes everything.
    if (errno == EIO || errno == ENOSPC || errno == EDQUOT) fail("write", name, errno);
  });
}

}  // namespace paraes::calls
