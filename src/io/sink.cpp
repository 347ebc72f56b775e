#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <utility>

#include "io/posix.hpp"
#include "paraes/error.hpp"
#include "paraes/io.hpp"

namespace paraes {
namespace {

// Renames without replacing. False where the target exists.
bool rename_new(const std::string& from, const std::string& to) {
#ifdef RENAME_NOREPLACE
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return true;
  if (errno == EEXIST) return false;
  if (errno != EINVAL && errno != ENOSYS) posix::fail("write", to, errno);
#endif
  // Not every file system knows that call; a hard link does not replace either.
  if (link(from.c_str(), to.c_str()) == 0) {
    unlink(from.c_str());
    return true;
  }
  if (errno == EEXIST) return false;
  // No hard links either (FAT): what is left is to look first, with a gap in between.
  struct stat status = {};
  if (lstat(to.c_str(), &status) == 0) return false;
  if (std::rename(from.c_str(), to.c_str()) != 0) posix::fail("write", to, errno);
  return true;
}

// Whether `name` still is the file that is open as `descriptor`. Throws IoError if that cannot be
// known.
bool is_named(int descriptor, const std::string& name) {
  struct stat open_file = {};
  struct stat named = {};
  if (fstat(descriptor, &open_file) != 0) posix::fail("look at", name, errno);
  if (lstat(name.c_str(), &named) != 0) {
    if (errno == ENOENT) return false;
    posix::fail("look at", name, errno);
  }
  return open_file.st_dev == named.st_dev && open_file.st_ino == named.st_ino;
}

// Removes a temporary that nobody is writing any more: writers hold a lock on theirs, which ends
// with them however they end. False if somebody is, or it cannot be removed.
bool remove_stale(const std::string& name) {
  const Descriptor old(open(name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (old.get() < 0) return errno == ENOENT;
  if (flock(old.get(), LOCK_EX | LOCK_NB) != 0 || !is_named(old.get(), name)) return false;
  return unlink(name.c_str()) == 0;
}

std::string random_suffix() {
  std::random_device random;
  constexpr char digits[] = "0123456789abcdef";
  std::string text = ".";
  std::uint32_t bits = random();
  for (int i = 0; i < 8; ++i, bits >>= 4) text += digits[bits & 15U];
  return text;
}

// Calls create(name) with the name that belongs to `path`, or, while another run holds that, with
// others, until it returns true; else errno says why not.
template <class Create>
bool with_temporary_name(const std::string& path, const Create& create) {
  const std::string usual = temporary_name(path);
  constexpr int attempts = 100;
  for (int i = 0; i < attempts; ++i) {
    if (create(i < 2 ? usual : usual + random_suffix())) return true;
    if (errno != EEXIST) return false;
    if (i == 0) static_cast<void>(remove_stale(usual));
    errno = EEXIST;
  }
  return false;
}

// The path under which a file without a name can be given one (open(2), O_TMPFILE).
std::string descriptor_path(int descriptor) {
  return "/proc/self/fd/" + std::to_string(descriptor);
}

bool link_descriptor(int descriptor, const std::string& name) {
  return linkat(AT_FDCWD, descriptor_path(descriptor).c_str(), AT_FDCWD, name.c_str(),
                AT_SYMLINK_FOLLOW) == 0;
}

}  // namespace

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string temporary_name(const std::string& path) {
  // Names have at most NAME_MAX bytes. Two long ones that begin alike share one: whoever comes
  // second takes a random one.
  constexpr std::size_t most = 200;
  const std::size_t slash = path.rfind('/');
  const std::size_t start = slash == std::string::npos ? 0 : slash + 1;
  return path.substr(0, start) + "." + path.substr(start, most) + ".paraes-tmp";
}

void sync_folder(const std::string& folder) {
  const Descriptor descriptor(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // A folder that may be written but not read (mode 0300) cannot be opened, and some file systems
  // cannot sync one: the file is whole all the same.
  if (descriptor.get() < 0) return;
  if (fsync(descriptor.get()) != 0 && errno != EINVAL && errno != EROFS) {
    posix::fail("sync the folder", folder, errno);
  }
}

FileSink::FileSink(std::string path, Options options)
    : path_(std::move(path)), folder_(folder_of(path_)), options_(std::move(options)) {
  if (!options_.named && open_unnamed()) return;
  try {
    open_named();
  } catch (...) {
    discard();
    throw;
  }
}

bool FileSink::open_unnamed() {
#ifdef O_TMPFILE
  descriptor_ =
      Descriptor(open(folder_.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, S_IRUSR | S_IWUSR));
  // Without /proc it could never get a name.
  if (descriptor_.get() >= 0 && access(descriptor_path(descriptor_.get()).c_str(), F_OK) == 0) {
    static_cast<void>(remove_stale(temporary_name(path_)));
    return true;
  }
  descriptor_.close();
#endif
  return false;
}

void FileSink::open_named() {
  const bool made = with_temporary_name(path_, [&](const std::string& name) {
    announce(name);
    descriptor_ =
        Descriptor(open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
    if (descriptor_.get() < 0) {
      const int error = errno;
      announce("");
      errno = error;
      return false;
    }
    // Between the two calls another run may have taken it for a stale one. Where there are no
    // locks, nobody else can hold one either, and that run left it alone.
    static_cast<void>(flock(descriptor_.get(), LOCK_EX));
    if (is_named(descriptor_.get(), name)) return true;
    announce("");
    errno = EEXIST;
    return false;
  });
  if (!made) posix::fail("create", path_, errno);
}

void FileSink::announce(std::string temporary) {
  if (options_.on_temporary) options_.on_temporary(temporary);
  temporary_ = std::move(temporary);
}

FileSink::~FileSink() { discard(); }

void FileSink::write(Bytes data) {
  write_at(position_, data);
  position_ += data.size();
}

void FileSink::write_at(std::uint64_t offset, Bytes data) {
  posix::write_full_at(descriptor_.get(), offset, data, path_);
}

void FileSink::commit() {
  const int file = descriptor_.get();
  // Last, so that nobody else can open a temporary that is not whole.
  if (fchmod(file, options_.mode) != 0 && errno != EPERM) posix::fail("write", path_, errno);
  if (options_.modified) {
    const std::array<timespec, 2> times = {
        {{.tv_sec = 0, .tv_nsec = UTIME_OMIT}, *options_.modified}};
    if (futimens(file, times.data()) != 0 && errno != EPERM) posix::fail("write", path_, errno);
  }
  if (fsync(file) != 0 && errno != EINVAL) posix::fail("sync", path_, errno);
  // Some file systems report a failed write only when a descriptor is closed. This one is needed
  // for the name, and for the lock on a temporary; closing a copy asks them.
  Descriptor copy(fcntl(file, F_DUPFD_CLOEXEC, 3));
  if (copy.get() < 0) posix::fail("write", path_, errno);
  if (const int error = copy.close(); error != 0) posix::fail("write", path_, error);
  give_name();
  descriptor_.close();
  if (options_.sync_folder) sync_folder(folder_);
}

void FileSink::give_name() {
  const int file = descriptor_.get();
  bool is_new = true;
  if (temporary_.empty() && !options_.overwrite) {
    is_new = link_descriptor(file, path_);
    if (!is_new && errno != EEXIST) posix::fail("write", path_, errno);
  } else {
    // Only a file with a name can replace another in one step.
    if (temporary_.empty() && !with_temporary_name(path_, [&](const std::string& name) {
          announce(name);
          if (link_descriptor(file, name)) return true;
          const int error = errno;
          announce("");
          errno = error;
          return false;
        })) {
      posix::fail("write", path_, errno);
    }
    if (!options_.overwrite) {
      is_new = rename_new(temporary_, path_);
    } else if (std::rename(temporary_.c_str(), path_.c_str()) != 0) {
      posix::fail("write", path_, errno);
    }
    if (is_new) announce("");
  }
  if (!is_new) {
    throw InvalidArgument(path_ + " appeared while its contents were written; it was left alone");
  }
}

void FileSink::discard() noexcept {
  if (temporary_.empty()) return;
  unlink(temporary_.c_str());
  temporary_.clear();
  try {
    if (options_.on_temporary) options_.on_temporary(temporary_);
  } catch (...) {  // NOLINT(bugprone-empty-catch): a destructor has nobody to tell
  }
}

SharedSink::SharedSink(const std::string& path, std::string name)
    : descriptor_(open(path.c_str(), O_WRONLY | O_CLOEXEC)), name_(std::move(name)) {
  if (descriptor_.get() < 0) posix::fail("open", path, errno);
}

void SharedSink::write(Bytes data) {
  write_at(position_, data);
  position_ += data.size();
}

void SharedSink::write_at(std::uint64_t offset, Bytes data) {
  posix::write_full_at(descriptor_.get(), offset, data, name_);
}

void SharedSink::commit() {
  if (fsync(descriptor_.get()) != 0 && errno != EINVAL) posix::fail("sync", name_, errno);
  if (const int error = descriptor_.close(); error != 0) posix::fail("write", name_, error);
}

std::uint64_t SharedSink::inode() const {
  struct stat status = {};
  if (fstat(descriptor_.get(), &status) != 0) posix::fail("read", name_, errno);
  return status.st_ino;
}

PipeSink::PipeSink(Descriptor descriptor, std::string name)
    : descriptor_(std::move(descriptor)), name_(std::move(name)) {
#ifdef F_SETPIPE_SZ
  struct stat status = {};
  // See PipeSource.
  if (fstat(descriptor_.get(), &status) == 0 && S_ISFIFO(status.st_mode)) {
    static_cast<void>(fcntl(descriptor_.get(), F_SETPIPE_SZ, 1 << 20));
  }
#endif
}

void PipeSink::write(Bytes data) { posix::write_full(descriptor_.get(), data, name_); }

void PipeSink::commit() {
  if (const int error = descriptor_.close(); error != 0) posix::fail("write", name_, error);
}

}  // namespace paraes
