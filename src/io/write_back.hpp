// Has the system write a file to the disk while the rest of it is still being computed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string_view>

namespace paraes::calls {

// Finds the windows of a file, of equal size, that have been written completely. Any number of
// threads may use an object at once.
class CompleteWindows {
 public:
  explicit CompleteWindows(std::uint64_t window_bytes) : window_bytes_(window_bytes) {}

  // Notes that the bytes [offset, offset + bytes) were written, which must be noted only once.
  // Calls found(begin) with the first byte of each window that they complete.
  void add(std::uint64_t offset, std::uint64_t bytes,
           const std::function<void(std::uint64_t begin)>& found);

 private:
  const std::uint64_t window_bytes_;
  std::mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> written_;  // bytes, by window, of the incomplete ones
};

// Without this, the system would begin to write when fsync is called, unless memory runs short or
// half a minute passes: until then the disk would be idle.
class WriteBack {
 public:
  // To be called when the bytes [offset, offset + bytes) were written to the file. Does not wait
  // for the disk, except to hand more data to a disk that has all it can queue. Throws IoError if
  // the system reports that data could not be written.
  void wrote(int descriptor, std::uint64_t offset, std::uint64_t bytes, std::string_view name);

 private:
  // Large enough for few requests, and for few parts of the file apart from each other on the disk.
  // Small enough for files of a few MiB to gain.
  static constexpr std::uint64_t window_bytes = std::uint64_t{4} << 20;

  CompleteWindows windows_{window_bytes};
};

}  // namespace paraes::calls
