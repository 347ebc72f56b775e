#include "src/io/system/files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace paraes::system {

// POSIX has O_SEARCH for this, but not every system.
#ifndef O_SEARCH
#define O_SEARCH O_RDONLY
#endif

int folder_flags() noexcept { return O_SEARCH | O_DIRECTORY | O_CLOEXEC; }

int open_beneath(int /*folder*/, const char* /*path*/, int /*flags*/, mode_t /*mode*/) noexcept {
  errno = ENOSYS;
  return -1;
}

int open_unnamed(int /*folder*/) noexcept { return -1; }

bool link_unnamed(int /*descriptor*/, int /*folder*/, const char* /*name*/) noexcept {
  errno = ENOSYS;
  return false;
}

bool rename_without_replacing(int /*folder*/, const char* /*from*/, const char* /*to*/) noexcept {
  errno = ENOSYS;
  return false;
}

bool start_writing(int /*file*/, std::uint64_t /*offset*/, std::uint64_t /*bytes*/) noexcept {
  return true;
}

ssize_t copy_range(int /*from*/, std::uint64_t /*begin*/, int /*to*/, std::uint64_t /*offset*/,
                   std::size_t /*bytes*/) noexcept {
  errno = ENOSYS;
  return -1;
}

// On macOS, fsync leaves the data in the cache of the disk. Not every file system has the other
// call, and another failure of it is one to report.
bool sync_to_disk(int descriptor) noexcept {
#ifdef F_FULLFSYNC
  if (fcntl(descriptor, F_FULLFSYNC) == 0) return true;
  if (errno != ENOTSUP && errno != EINVAL && errno != ENOTTY && errno != ENODEV) return false;
#endif
  return fsync(descriptor) == 0;
}

void expect_sequential_reads(int /*file*/) noexcept {}

// POSIX has no call for it, and what systems have inherits in other ways.
void remove_access_list(int /*descriptor*/) noexcept {}

// POSIX has no calls for attributes.
bool has_attributes() noexcept { return false; }

bool makes_up_contents(int /*descriptor*/) noexcept { return false; }

bool read_attributes(int /*descriptor*/, std::vector<FileAttribute>& /*attributes*/) {
  return true;
}

bool is_access_list(const FileAttribute& /*attribute*/) noexcept { return false; }

bool set_attribute(int /*descriptor*/, const FileAttribute& /*attribute*/) noexcept {
  errno = ENOSYS;
  return false;
}

// The access control lists of macOS do not change the permission bits. Other systems may replace
// the group's bits by the mask of a list, and POSIX has no call that would tell.
mode_t permissions(int /*descriptor*/, const struct stat& status) noexcept {
  return status.st_mode & (S_IRWXU | S_IRWXG | S_IRWXO);
}

}  // namespace paraes::system
