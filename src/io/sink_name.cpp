// How the file of a FileSink gets its name: at first none or a temporary one, then that of its
// target, which it replaces atomically.

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "paraes/error.hpp"
#include "paraes/io.hpp"
#include "src/core/system/files.hpp"
#include "src/core/system/outputs.hpp"
#include "src/core/system/removal.hpp"
#include "src/io/calls.hpp"
#include "src/io/system/files.hpp"
#include "src/io/temporaries.hpp"

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
  if (!system::is_unsupported(errno)) calls::fail("write", shown, errno);
  // A hard link does not replace a file either.
  if (linkat(folder, from, folder, to, 0) == 0) {
    int failed = unlinkat(folder, from, 0);
    if (failed != 0) failed = unlinkat(folder, from, 0);
    if (failed == 0) return true;
    // It would keep a second name, of which nobody knows.
    const int error = errno;
    unlinkat(folder, to, 0);
    calls::fail("write", shown, error);
  }
  if (errno == EEXIST) return false;
  if (!system::is_unsupported(errno) && errno != EMLINK) calls::fail("write", shown, errno);
  // Without hard links (FAT), check first; another process may create the target in between.
  struct stat status = {};
  if (fstatat(folder, to, &status, AT_SYMLINK_NOFOLLOW) == 0) return false;
  if (errno != ENOENT) calls::fail("write", shown, errno);
  if (renameat(folder, from, folder, to) != 0) calls::fail("write", shown, errno);
  return true;
}

void remove_leftovers(const FileSink::Options& options, const Folder& folder,
                      const std::string& name) {
  Leftovers own;
  (options.leftovers != nullptr ? *options.leftovers : own).remove(folder, name);
}

// Whether to list its names takes longer than to encrypt a small file.
bool is_large(const Folder& folder) {
  constexpr off_t large_bytes = 256 << 10;  // some ten thousand names
  struct stat status = {};
  return fstat(folder.descriptor(), &status) == 0 && status.st_size > large_bytes;
}

[[noreturn]] void fail_to_replace(const std::string& shown) {
  throw TargetExists(shown +
                         ": it appeared while its contents were written and was not replaced: try "
                         "again, or choose another output",
                     shown);
}

}  // namespace

// Finds out at once what commit() would find out after everything is written. All else is reported
// when the temporary file is created.
void FileSink::check_target() const {
  if (name_.empty()) calls::fail("create", shown_, EISDIR);
  struct stat status = {};
  if (fstatat(folder_->descriptor(), name_.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENAMETOOLONG) calls::fail("create", shown_, errno);
    return;
  }
  if (!options_.overwrite) {
    throw TargetExists(shown_ + ": it exists already and was not replaced: choose another output",
                       shown_);
  }
  if (S_ISDIR(status.st_mode)) calls::fail("write", shown_, EISDIR);
  // Before anything is written, which may take long.
  system::refuse_mount_point(folder_->descriptor(), name_, shown_,
                             "choose another output, and copy it into this file");
}

bool FileSink::open_unnamed() {
  if (links_are_refused) return false;
  descriptor_ = Descriptor(system::open_unnamed(folder_->descriptor()));
  if (descriptor_.get() < 0) return false;
  // A killed run leaves its file where that had a name from the beginning, or was to replace the
  // target. Here neither is so, unless the target exists, and only another kind of run, such as one
  // of paraes-mpi, can have left one. A large folder keeps that until it is listed for a target.
  if (!is_large(*folder_) || target()) remove_leftovers(options_, *folder_, name_);
  return true;
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
  remove_leftovers(options_, *folder_, name_);
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
  if (!made) calls::fail("create", shown_, errno);
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
    if (!system::is_unsupported(error)) calls::fail("write", shown_, error);
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
      if (!system::is_unsupported(error)) calls::fail("write", shown_, error);
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
      calls::fail("write", shown_, errno);
  }
  if (!options_.overwrite) {
    if (!rename_new(folder, temporary_.c_str(), name_.c_str(), shown_)) fail_to_replace(shown_);
  } else if (renameat(folder, temporary_.c_str(), folder, name_.c_str()) != 0) {
    if (errno == EBUSY || system::is_unimplemented(errno)) fail_to_rename(errno);
    calls::fail("write", shown_, errno);
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
    // Some FUSE file systems rename an open file instead of removing it, if they can.
    if (unlinkat(folder, temporary_.c_str(), 0) != 0) {
      descriptor_.close();
      // Nobody else takes a name of this process and 32 random bits.
      static_cast<void>(system::remove_file(folder, temporary_.c_str(), 0, [] { return true; }));
    }
  }
  temporary_.clear();
  try {
    if (options_.on_temporary) options_.on_temporary(folder, temporary_);
  } catch (...) {  // NOLINT(bugprone-empty-catch): a destructor must not throw
  }
}

}  // namespace paraes
