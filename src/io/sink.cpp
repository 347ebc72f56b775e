#include <fcntl.h>
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

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// A short name of its own: one made from the target's could be too long for the file system.
std::string temporary_name(const std::string& folder) {
  std::random_device random;
  constexpr char digits[] = "0123456789abcdef";
  std::string name = folder + "/.paraes-";
  for (int word = 0; word < 2; ++word) {
    std::uint32_t bits = random();
    for (int i = 0; i < 8; ++i, bits >>= 4) name += digits[bits & 15U];
  }
  return name + ".tmp";
}

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

// A rename is on the disk only when the folder is.
void sync_folder(const std::string& folder) {
  const Descriptor descriptor(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // A folder that may be written but not read (mode 0300) cannot be opened, and some file systems
  // cannot sync one: the file is whole all the same.
  if (descriptor.get() < 0) return;
  if (fsync(descriptor.get()) != 0 && errno != EINVAL && errno != EROFS) {
    posix::fail("sync the folder", folder, errno);
  }
}

}  // namespace

FileSink::FileSink(std::string path, Options options)
    : path_(std::move(path)), folder_(folder_of(path_)), options_(std::move(options)) {
  constexpr int attempts = 100;
  for (int i = 0; i < attempts; ++i) {
    temporary_ = temporary_name(folder_);
    if (options_.on_temporary) options_.on_temporary(temporary_);
    descriptor_ = Descriptor(
        open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
    if (descriptor_.get() >= 0) return;
    const int error = errno;
    temporary_.clear();
    if (options_.on_temporary) options_.on_temporary(temporary_);
    if (error != EEXIST) posix::fail("create", path_, error);
  }
  posix::fail("create", path_, EEXIST);
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
  if (const int error = descriptor_.close(); error != 0) posix::fail("write", path_, error);
  if (options_.overwrite) {
    if (std::rename(temporary_.c_str(), path_.c_str()) != 0) posix::fail("write", path_, errno);
  } else if (!rename_new(temporary_, path_)) {
    throw InvalidArgument(path_ + " appeared while its contents were written; it was left alone");
  }
  temporary_.clear();
  if (options_.on_temporary) options_.on_temporary(temporary_);
  sync_folder(folder_);
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
