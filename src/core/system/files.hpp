// Files, as far as systems differ: their times, what calls on them return where a file system or a
// policy does not have them, and mounts.
#pragma once

#include <sys/stat.h>

#include <cerrno>
#include <ctime>
#include <initializer_list>

namespace paraes::system {

// macOS names the fields of a status differently from POSIX.
#if defined(__APPLE__)
inline timespec modified_time(const struct stat& status) noexcept { return status.st_mtimespec; }
inline timespec changed_time(const struct stat& status) noexcept { return status.st_ctimespec; }
#else
inline timespec modified_time(const struct stat& status) noexcept { return status.st_mtim; }
inline timespec changed_time(const struct stat& status) noexcept { return status.st_ctim; }
#endif

// Whether a call failed because the kernel or the file system (FUSE, FAT, network file systems)
// does not have it.
constexpr bool is_unimplemented(int error) noexcept {
  for (const int one : {ENOSYS, EOPNOTSUPP, ENOTSUP, EINVAL}) {  // two are the same on Linux
    if (error == one) return true;
  }
  return false;
}

// Like is_unimplemented, or a policy such as SELinux's refuses the call. For calls that have a
// fallback or lose no byte if they fail: not for fsync(2), which returns errors of earlier writes.
constexpr bool is_unsupported(int error) noexcept {
  return is_unimplemented(error) || error == EPERM || error == EACCES;
}

// Whether something is mounted on `name` in the open folder `folder`, so that no other file can
// take its place. False where the system does not say so (Linux before 5.8).
[[nodiscard]] bool is_mount_point(int folder, const char* name) noexcept;

}  // namespace paraes::system
