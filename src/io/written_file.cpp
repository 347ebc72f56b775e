// Whether a name still leads to a file that a FileSink has written.

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string_view>

#include "paraes/error.hpp"
#include "paraes/io.hpp"
#include "src/io/calls.hpp"

namespace paraes {
namespace {

// How much of a file WrittenFile compares: more than any header up to its salt.
constexpr std::size_t most_of_beginning = 64;

std::size_t hash_of(Bytes bytes) {
  return std::hash<std::string_view>()({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace

bool WrittenFile::is_at(int folder, const char* name, bool follow) const {
  struct stat status = {};
  const Descriptor file(openat(
      folder, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY | (follow ? 0 : O_NOFOLLOW)));
  if (file.get() < 0) {
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) calls::fail("open", name, errno);
    return (errno == EACCES || errno == EPERM) && id &&
           fstatat(folder, name, &status, follow ? 0 : AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(status.st_mode) && FileId(status) == id;
  }
  if (fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  if (static_cast<std::uint64_t>(status.st_size) != size) return false;
  if (id && FileId(status) != id) return false;
  std::array<std::uint8_t, most_of_beginning> bytes{};
  const MutableBytes there = MutableBytes(bytes).first(beginning_bytes);
  return beginning_bytes == 0 || (calls::read_full_at(file.get(), 0, there, name) == there.size() &&
                                  hash_of(there) == beginning);
}

// The beginning is what was written first at the offset 0: the header of a message, for instance.
void FileSink::note_beginning(std::uint64_t offset, Bytes data) {
  if (offset >= most_of_beginning) return;
  const std::lock_guard lock(beginning_mutex_);
  if (offset != 0) {
    if (offset < written_.beginning_bytes) written_.beginning_bytes = 0;  // it has changed
    return;
  }
  const Bytes beginning = data.first(std::min(data.size(), most_of_beginning));
  written_.beginning = hash_of(beginning);
  written_.beginning_bytes = beginning.size();
}

WrittenFile FileSink::written() const {
  const int folder = folder_->descriptor();
  struct stat status = {};
  const bool is_named_so = fstatat(folder, name_.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                           FileId(status) == written_.id;
  if (is_named_so) return written_;
  // A hard link, for instance, gets another inode number over sshfs.
  WrittenFile file = written_;
  file.id.reset();
  try {
    if (file.is_at(folder, name_.c_str(), false)) return file;
  } catch (const IoError&) {  // NOLINT(bugprone-empty-catch): whoever looks for it gets the error
  }
  return written_;
}

}  // namespace paraes
