#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "paraes/error.hpp"
#include "paraes/io.hpp"
#include "src/core/system/files.hpp"
#include "src/io/calls.hpp"
#include "src/io/system/files.hpp"
#include "src/io/write_back.hpp"

namespace paraes {
namespace {

Folder folder_for(const std::string& path) try {
  return Folder(folder_of(path));
} catch (const IoError& error) {
  calls::fail("create", path, error.code());
}

constexpr std::size_t hole_bytes = 4096;

bool is_zero(Bytes data) {
  return data[0] == 0 && std::memcmp(data.data(), data.data() + 1, data.size() - 1) == 0;
}

}  // namespace

FileSink::FileSink(std::shared_ptr<const Folder> folder, std::string name, Options options,
                   std::string shown)
    : folder_(std::move(folder)),
      name_(std::move(name)),
      shown_(shown.empty() ? folder_->name_of(name_) : std::move(shown)),
      options_(std::move(options)),
      write_back_(std::make_unique<calls::WriteBack>()) {
  check_target();
  try {
    if (options_.named || !open_unnamed()) open_named();
    if (options_.keep_owner) keep_owner();
  } catch (...) {
    discard();
    throw;
  }
}

FileSink::FileSink(const std::string& path, Options options)
    : FileSink(std::make_shared<const Folder>(folder_for(path)), file_name_of(path),
               std::move(options), path) {}

FileSink::FileSink(const std::string& path) : FileSink(path, Options{}) {}

FileSink::~FileSink() { discard(); }

void FileSink::write(Bytes data) {
  write_at(position_, data);
  position_ += data.size();
}

void FileSink::check_owner() const {
  if (!owner_.is_this()) owner_.check(shown_.c_str());
}

void FileSink::write_at(std::uint64_t offset, Bytes data) {
  check_owner();
  note_beginning(offset, data);
  if (options_.sparse) {
    write_around_zeros(offset, data);
  } else {
    write_data(offset, data);
  }
}

void FileSink::write_data(std::uint64_t offset, Bytes data) {
  calls::write_full_at(descriptor_.get(), offset, data, shown_);
  write_back_->wrote(descriptor_.get(), offset, data.size(), shown_);
}

// The file is new: what is not written is a hole. Data without zeros costs one look at each block.
void FileSink::write_around_zeros(std::uint64_t offset, Bytes data) {
  const std::uint64_t end = offset + data.size();
  std::uint64_t known = end_.load();
  while (known < end && !end_.compare_exchange_weak(known, end)) {
  }
  std::size_t begin = 0;  // of what has yet to be written
  for (std::size_t at = 0; at < data.size();) {
    // Up to the next border of blocks.
    const auto most = static_cast<std::size_t>(hole_bytes - (offset + at) % hole_bytes);
    const std::size_t n = std::min(most, data.size() - at);
    if (n == hole_bytes && is_zero(data.subspan(at, n))) {
      if (at != begin) write_data(offset + begin, data.subspan(begin, at - begin));
      begin = at + n;
    }
    at += n;
  }
  if (begin != data.size()) write_data(offset + begin, data.subspan(begin));
}

void FileSink::copy_at(std::uint64_t offset, const FileSource& from, std::uint64_t begin,
                       std::uint64_t bytes) {
  check_owner();
  constexpr std::size_t most_per_call = std::size_t{1} << 30;
  std::uint64_t done = 0;
  while (done < bytes) {
    const auto wanted =
        static_cast<std::size_t>(std::min<std::uint64_t>(bytes - done, most_per_call));
    const ssize_t n = system::copy_range(from.descriptor_.get(), begin + done, descriptor_.get(),
                                         offset + done, wanted);
    if (n > 0) {
      write_back_->wrote(descriptor_.get(), offset + done, static_cast<std::uint64_t>(n), shown_);
      done += static_cast<std::uint64_t>(n);
      continue;
    }
    if (n < 0 && errno == EINTR) continue;
    // Not every pair of file systems can do it, and some say so by copying nothing.
    const bool refused = n == 0 || errno == EXDEV || system::is_unsupported(errno);
    if (!refused) calls::fail("write", shown_, errno);
    break;
  }
  if (done == bytes) return;
  IoBuffer buffer(static_cast<std::size_t>(std::min<std::uint64_t>(bytes - done, 1U << 20)));
  while (done < bytes) {
    const MutableBytes part = buffer.span().first(
        static_cast<std::size_t>(std::min<std::uint64_t>(bytes - done, buffer.size())));
    read_exactly(from, begin + done, part);
    note_beginning(offset + done, part);
    write_data(offset + done, part);
    done += part.size();
  }
}

FileId FileSink::id() const {
  struct stat status = {};
  if (fstat(descriptor_.get(), &status) != 0) calls::fail("write", shown_, errno);
  return FileId(status);
}

std::optional<struct stat> FileSink::target() const {
  struct stat status = {};
  if (fstatat(folder_->descriptor(), name_.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
    return status;
  }
  if (errno != ENOENT) calls::fail("write", shown_, errno);
  return std::nullopt;
}

// Permissions of the file to be replaced; only those of its owner if the others cannot be
// determined.
mode_t FileSink::permissions_of_target(const struct stat& status) const {
  const Descriptor old(
      openat(folder_->descriptor(), name_.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (old.get() < 0) {
    if (errno != EACCES && errno != ENOENT && errno != ELOOP) calls::fail("look at", shown_, errno);
    return status.st_mode & S_IRWXU;
  }
  struct stat opened = {};
  if (fstat(old.get(), &opened) != 0) calls::fail("look at", shown_, errno);
  return FileId(opened) == FileId(status) ? permissions(old.get(), opened)
                                          : status.st_mode & S_IRWXU;
}

// Before anything is written, which may take long.
void FileSink::keep_owner() {
  const auto old = target();
  struct stat own = {};
  if (fstat(descriptor_.get(), &own) != 0) calls::fail("write", shown_, errno);
  if (!old || (old->st_uid == own.st_uid && old->st_gid == own.st_gid)) return;
  if (fchown(descriptor_.get(), old->st_uid, old->st_gid) != 0) {
    const int error = errno;
    throw IoError(shown_ + ": cannot keep its owner and group (" +
                      std::generic_category().message(error) +
                      "), and would lock them out: it takes its owner, or root",
                  error, shown_);
  }
}

void FileSink::set_owner_and_mode() {
  const int file = descriptor_.get();
  mode_t mode = options_.mode;
  const auto old = options_.overwrite ? target() : std::nullopt;
  if (old && S_ISREG(old->st_mode)) {
    // A list that the folder gives to new files could let in whom the old file kept out.
    if (options_.narrow || options_.keep_owner) system::remove_access_list(file);
    if (options_.narrow) mode &= permissions_of_target(*old);
    struct stat own = {};
    if (fstat(file, &own) != 0) calls::fail("write", shown_, errno);
    const bool differs = old->st_uid != own.st_uid || old->st_gid != own.st_gid;
    if (differs && fchown(file, old->st_uid, old->st_gid) != 0) mode &= S_IRWXU;
  } else if (options_.owner) {
    // Where that is not permitted, the file stays this user's.
    static_cast<void>(fchown(file, options_.owner->first, options_.owner->second) == 0);
  }
  if (fchmod(file, mode) != 0 && !system::is_unsupported(errno))
    calls::fail("write", shown_, errno);
}

// `lists`: the access control list alone, or all but that.
void FileSink::set_attributes(bool lists) {
  if (options_.attributes.empty()) return;
  const auto old = lists && options_.narrow && options_.overwrite ? target() : std::nullopt;
  // A descriptor that is none: the file takes none of them.
  const int file = old && S_ISREG(old->st_mode) ? -1 : descriptor_.get();
  const auto kind = lists ? AttributeKind::access_lists : AttributeKind::of_users;
  const auto lost = set_file_attributes(file, options_.attributes, kind);
  lost_.insert(lost_.end(), lost.begin(), lost.end());
}

// A hole at the end has not made the file longer.
void FileSink::set_size() {
  struct stat status = {};
  const int file = descriptor_.get();
  if (fstat(file, &status) != 0) calls::fail("write", shown_, errno);
  if (status.st_size >= static_cast<off_t>(end_)) return;
  while (ftruncate(file, static_cast<off_t>(end_)) != 0) {
    if (errno == EINTR) continue;
    if (!system::is_unsupported(errno)) calls::fail("write", shown_, errno);
    const std::uint8_t zero = 0;
    write_data(end_ - 1, {&zero, 1});
    break;
  }
}

void FileSink::prepare() {
  check_owner();
  if (prepared_) return;
  const int file = descriptor_.get();
  // Set only now, so that no other user can open an incomplete file.
  lost_.clear();
  set_attributes(false);  // which takes the right to write
  set_owner_and_mode();
  set_attributes(true);
  if (options_.sparse) set_size();
  if (options_.modified) {
    // Not UTIME_OMIT for the other time: libfuse 2 then sets neither, and reports no error.
    const std::array<timespec, 2> times = {
        {{.tv_sec = 0, .tv_nsec = UTIME_NOW}, *options_.modified}};
    if (futimens(file, times.data()) != 0 && !system::is_unsupported(errno)) {
      calls::fail("write", shown_, errno);
    }
  }
  if (!system::sync_to_disk(file) && !system::is_unimplemented(errno)) {
    calls::fail("sync", shown_, errno);
  }
  // Some file systems report a failed write only when a descriptor is closed. Closing a duplicate
  // has that effect, and keeps the descriptor open for naming the file and for its lock.
  Descriptor copy(fcntl(file, F_DUPFD_CLOEXEC, 3));
  if (copy.get() < 0) calls::fail("write", shown_, errno);
  if (const int error = copy.close(); error != 0) calls::fail("write", shown_, error);
  prepared_ = true;
}

void FileSink::commit() {
  check_owner();
  prepare();
  give_name();
  struct stat status = {};
  if (fstat(descriptor_.get(), &status) == 0) {
    written_.id.emplace(status);
    written_.size = static_cast<std::uint64_t>(status.st_size);
  }
  descriptor_.close();
  if (!options_.sync_folder) return;
  if (const int error = folder_->try_sync(options_.needs_sync)) {
    calls::fail("sync the folder of", shown_, error);
  }
}

}  // namespace paraes
