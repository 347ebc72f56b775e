#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "paraes/error.hpp"
#include "paraes/io.hpp"
#include "src/core/system/unsupported.hpp"
#include "src/io/posix.hpp"
#include "src/io/system/files.hpp"
#include "src/io/temporaries.hpp"
#include "src/io/write_back.hpp"

namespace paraes {
namespace {

// Whether an unnamed file could not get a name: policies that forbid links hold for all files. The
// next ones have names from the beginning, which spares the copy.
std::atomic<bool> links_are_refused = false;

// Names an unnamed file. Returns false and sets errno on failure.
bool link_unnamed(int file, int folder, const char* name) {
  if (system::link_unnamed(file, folder, name)) return true;
  const int error = errno;
  // Over a network, the answer to a call that succeeded can be lost.
  struct stat status = {};
  if ((error == EEXIST || error == EIO) && fstat(file, &status) == 0 && status.st_nlink != 0 &&
      is_named(file, folder, name) == Named::yes) {
    return true;
  }
  errno = error;
  return false;
}

// Renames a file within a folder without replacing another one. Returns false if the target exists.
// Error messages call the target `shown`.
bool rename_new(int folder, const char* from, const char* to, const std::string& shown) {
  if (system::rename_without_replacing(folder, from, to)) return true;
  if (errno == EEXIST) return false;
  if (!system::is_unsupported(errno)) posix::fail("write", shown, errno);
  // A hard link does not replace a file either.
  if (linkat(folder, from, folder, to, 0) == 0) {
    int failed = unlinkat(folder, from, 0);
    if (failed != 0) failed = unlinkat(folder, from, 0);
    if (failed == 0) return true;
    // It would keep a second name, of which nobody knows.
    const int error = errno;
    unlinkat(folder, to, 0);
    posix::fail("write", shown, error);
  }
  if (errno == EEXIST) return false;
  if (!system::is_unsupported(errno) && errno != EMLINK) posix::fail("write", shown, errno);
  // Without hard links (FAT), check first; another process may create the target in between.
  struct stat status = {};
  if (fstatat(folder, to, &status, AT_SYMLINK_NOFOLLOW) == 0) return false;
  if (errno != ENOENT) posix::fail("write", shown, errno);
  if (renameat(folder, from, folder, to) != 0) posix::fail("write", shown, errno);
  return true;
}

[[noreturn]] void fail_to_replace(const std::string& shown) {
  throw TargetExists(shown +
                         ": it appeared while its contents were written and was not replaced: try "
                         "again, or choose another output",
                     shown);
}

// How much of a file WrittenFile compares: more than any header up to its salt.
constexpr std::size_t most_of_beginning = 64;

std::size_t hash_of(Bytes bytes) {
  return std::hash<std::string_view>()({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

Folder folder_for(const std::string& path) {
  try {
    return Folder(folder_of(path));
  } catch (const IoError& error) {
    posix::fail("create", path, error.code());
  }
}

}  // namespace

bool WrittenFile::is_at(int folder, const char* name, bool follow) const {
  struct stat status = {};
  const Descriptor file(openat(
      folder, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY | (follow ? 0 : O_NOFOLLOW)));
  if (file.get() < 0) {
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) posix::fail("open", name, errno);
    return (errno == EACCES || errno == EPERM) && id &&
           fstatat(folder, name, &status, follow ? 0 : AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(status.st_mode) && FileId(status) == id;
  }
  if (fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  if (static_cast<std::uint64_t>(status.st_size) != size) return false;
  if (id && FileId(status) != id) return false;
  std::array<std::uint8_t, most_of_beginning> bytes{};
  const MutableBytes there = MutableBytes(bytes).first(beginning_bytes);
  return beginning_bytes == 0 || (posix::read_full_at(file.get(), 0, there, name) == there.size() &&
                                  hash_of(there) == beginning);
}

FileSink::FileSink(std::shared_ptr<const Folder> folder, std::string name, Options options,
                   std::string shown)
    : folder_(std::move(folder)),
      name_(std::move(name)),
      shown_(shown.empty() ? folder_->name_of(name_) : std::move(shown)),
      options_(std::move(options)),
      write_back_(std::make_unique<posix::WriteBack>()) {
  check_target();
  try {
    if (options_.leftovers != nullptr) {
      options_.leftovers->remove(*folder_, name_);
    } else {
      Leftovers().remove(*folder_, name_);
    }
    if (options_.named || links_are_refused || !open_unnamed()) open_named();
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

// Finds out at once what commit() would find out after everything is written. All else is reported
// when the temporary file is created.
void FileSink::check_target() const {
  if (name_.empty()) posix::fail("create", shown_, EISDIR);
  struct stat status = {};
  if (fstatat(folder_->descriptor(), name_.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENAMETOOLONG) posix::fail("create", shown_, errno);
    return;
  }
  if (!options_.overwrite) {
    throw TargetExists(shown_ + ": it exists already and was not replaced: choose another output",
                       shown_);
  }
  if (S_ISDIR(status.st_mode)) posix::fail("write", shown_, EISDIR);
}

bool FileSink::open_unnamed() {
  descriptor_ = Descriptor(system::open_unnamed(folder_->descriptor()));
  return descriptor_.get() >= 0;
}

// Calls make(name) with new names until it returns true or fails with another errno than EEXIST.
bool FileSink::make_temporary(const std::function<bool(const char*)>& make) {
  constexpr int attempts = 100;
  for (int i = 0; i < attempts; ++i) {
    const std::string name = new_temporary_name(name_, shown_);
    announce(name);
    if (make(name.c_str())) return true;
    const int error = errno;
    // Over a network, the answer to a call that succeeded can be lost.
    if (error != EEXIST) unlinkat(folder_->descriptor(), name.c_str(), 0);
    announce("");
    errno = error;
    if (error != EEXIST) break;
  }
  return false;
}

void FileSink::open_named() {
  const int folder = folder_->descriptor();
  const bool made = make_temporary([&](const char* name) {
    // Write-only: see SharedSink.
    descriptor_ = Descriptor(
        openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
    if (descriptor_.get() < 0) return false;
    // Between open and flock another process may have removed the file as stale: check that it
    // still has its name. On file systems without locks, no process removes anything, because
    // remove_stale() needs a lock.
    static_cast<void>(flock(descriptor_.get(), LOCK_EX));
    const Named named = still_has_name(descriptor_.get(), folder, name);
    if (named == Named::yes) return true;
    const int error = named == Named::no ? EEXIST : errno;
    if (named == Named::unknown) unlinkat(folder, name, 0);
    errno = error;
    return false;
  });
  if (!made) posix::fail("create", shown_, errno);
  check_rename();
}

// Finds out before the first byte whether files can be renamed there, by another temporary name.
// Once for each file system.
void FileSink::check_rename() {
  static std::mutex mutex;
  static std::set<dev_t> can_rename;
  const dev_t device = folder_->id().device;
  {
    const std::lock_guard lock(mutex);
    if (can_rename.contains(device)) return;
  }
  const int folder = folder_->descriptor();
  const std::string before = temporary_;
  const std::string name = new_temporary_name(name_, shown_);
  if (renameat(folder, before.c_str(), folder, name.c_str()) != 0) {
    const int error = errno;
    unlinkat(folder, name.c_str(), 0);  // the answer to a call that succeeded can be lost
    if (!system::is_unsupported(error)) posix::fail("write", shown_, error);
    fail_to_rename(error);
  }
  announce(name);
  const std::lock_guard lock(mutex);
  can_rename.insert(device);
}

void FileSink::fail_to_rename(int error) const {
  const char* const why =
      error == EBUSY
          ? "another file system has a file mounted there, as in a container, which cannot be "
            "replaced"
          : "its file system cannot rename files, so that it could not get its name only once it "
            "is whole";
  throw CannotRename(shown_ + ": cannot rename a file to it (" +
                         std::generic_category().message(error) + "): " + why,
                     error, shown_);
}

void FileSink::announce(std::string temporary) {
  if (options_.on_temporary) options_.on_temporary(folder_->descriptor(), temporary);
  temporary_ = std::move(temporary);
}

std::string FileSink::temporary() const {
  return temporary_.empty() ? temporary_ : folder_->name_of(temporary_);
}

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
  posix::write_full_at(descriptor_.get(), offset, data, shown_);
  write_back_->wrote(descriptor_.get(), offset, data.size(), shown_);
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
    if (!refused) posix::fail("write", shown_, errno);
    break;
  }
  if (done == bytes) return;
  IoBuffer buffer(static_cast<std::size_t>(std::min<std::uint64_t>(bytes - done, 1U << 20)));
  while (done < bytes) {
    const MutableBytes part = buffer.span().first(
        static_cast<std::size_t>(std::min<std::uint64_t>(bytes - done, buffer.size())));
    read_exactly(from, begin + done, part);
    write_at(offset + done, part);
    done += part.size();
  }
}

FileId FileSink::id() const {
  struct stat status = {};
  if (fstat(descriptor_.get(), &status) != 0) posix::fail("write", shown_, errno);
  return FileId(status);
}

std::optional<struct stat> FileSink::target() const {
  struct stat status = {};
  if (fstatat(folder_->descriptor(), name_.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
    return status;
  }
  if (errno != ENOENT) posix::fail("write", shown_, errno);
  return std::nullopt;
}

// Permissions of the file to be replaced; only those of its owner if the others cannot be
// determined.
mode_t FileSink::permissions_of_target(const struct stat& status) const {
  const Descriptor old(
      openat(folder_->descriptor(), name_.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (old.get() < 0) {
    if (errno != EACCES && errno != ENOENT && errno != ELOOP) posix::fail("look at", shown_, errno);
    return status.st_mode & S_IRWXU;
  }
  struct stat opened = {};
  if (fstat(old.get(), &opened) != 0) posix::fail("look at", shown_, errno);
  return FileId(opened) == FileId(status) ? permissions(old.get(), opened)
                                          : status.st_mode & S_IRWXU;
}

// Before anything is written, which may take long.
void FileSink::keep_owner() {
  const auto old = target();
  struct stat own = {};
  if (fstat(descriptor_.get(), &own) != 0) posix::fail("write", shown_, errno);
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
    if (fstat(file, &own) != 0) posix::fail("write", shown_, errno);
    const bool differs = old->st_uid != own.st_uid || old->st_gid != own.st_gid;
    if (differs && fchown(file, old->st_uid, old->st_gid) != 0) mode &= S_IRWXU;
  }
  if (fchmod(file, mode) != 0 && !system::is_unsupported(errno))
    posix::fail("write", shown_, errno);
}

void FileSink::prepare() {
  check_owner();
  if (prepared_) return;
  const int file = descriptor_.get();
  // Set only now, so that no other user can open an incomplete file.
  set_owner_and_mode();
  if (options_.modified) {
    // Not UTIME_OMIT for the other time: libfuse 2 then sets neither, and reports no error.
    const std::array<timespec, 2> times = {
        {{.tv_sec = 0, .tv_nsec = UTIME_NOW}, *options_.modified}};
    if (futimens(file, times.data()) != 0 && !system::is_unsupported(errno)) {
      posix::fail("write", shown_, errno);
    }
  }
  if (!system::sync_to_disk(file) && !system::is_unimplemented(errno)) {
    posix::fail("sync", shown_, errno);
  }
  // Some file systems report a failed write only when a descriptor is closed. Closing a duplicate
  // has that effect, and keeps the descriptor open for naming the file and for its lock.
  Descriptor copy(fcntl(file, F_DUPFD_CLOEXEC, 3));
  if (copy.get() < 0) posix::fail("write", shown_, errno);
  if (const int error = copy.close(); error != 0) posix::fail("write", shown_, error);
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
    posix::fail("sync the folder of", shown_, error);
  }
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

void FileSink::give_name() {
  const int folder = folder_->descriptor();
  if (temporary_.empty()) {
    const int file = descriptor_.get();
    if (link_unnamed(file, folder, name_.c_str())) return;
    int error = errno;
    if (error == EEXIST) {
      if (!options_.overwrite) fail_to_replace(shown_);
      // Only a file with a name can replace another one atomically. It is locked before it gets its
      // temporary name; otherwise another process could remove it as stale.
      static_cast<void>(flock(file, LOCK_EX | LOCK_NB));
      const bool linked =
          make_temporary([&](const char* name) { return link_unnamed(file, folder, name); });
      error = linked ? 0 : errno;
    }
    if (error != 0) {
      if (!system::is_unsupported(error)) posix::fail("write", shown_, error);
      links_are_refused = true;
      copy_to_named();
    }
  }
  // On file systems whose locks have no effect on other hosts, one of these may have removed it.
  switch (still_has_name(descriptor_.get(), folder, temporary_.c_str())) {
    case Named::yes:
      break;
    case Named::no:
      throw IoError(shown_ + ": cannot write it: its temporary file " + temporary() +
                        " was removed; try again when no other process writes this file",
                    EIO, shown_);
    case Named::unknown:
      posix::fail("write", shown_, errno);
  }
  if (!options_.overwrite) {
    if (!rename_new(folder, temporary_.c_str(), name_.c_str(), shown_)) fail_to_replace(shown_);
  } else if (renameat(folder, temporary_.c_str(), folder, name_.c_str()) != 0) {
    if (errno == EBUSY || system::is_unimplemented(errno)) fail_to_rename(errno);
    posix::fail("write", shown_, errno);
  }
  announce("");
}

// Moves what was written from the unnamed file to one that has a name.
void FileSink::copy_to_named() {
  const FileSource unnamed(std::move(descriptor_), shown_);
  open_named();
  if (options_.keep_owner) keep_owner();
  copy_at(0, unnamed, 0, unnamed.size());
  prepared_ = false;
  prepare();
}

void FileSink::discard() noexcept {
  if (temporary_.empty() || !owner_.is_this()) return;
  const int folder = folder_->descriptor();
  if (still_has_name(descriptor_.get(), folder, temporary_.c_str()) != Named::no) {
    // Some FUSE file systems rename a file that is open in place of removing it, if they can.
    if (unlinkat(folder, temporary_.c_str(), 0) != 0) {
      descriptor_.close();
      unlinkat(folder, temporary_.c_str(), 0);
    }
  }
  temporary_.clear();
  try {
    if (options_.on_temporary) options_.on_temporary(folder, temporary_);
  } catch (...) {  // NOLINT(bugprone-empty-catch): a destructor must not throw
  }
}

}  // namespace paraes
