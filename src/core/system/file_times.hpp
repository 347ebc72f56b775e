// The times in a file's status, whose fields macOS names differently from POSIX.
#pragma once

#include <sys/stat.h>

#include <ctime>

namespace paraes::system {

#if defined(__APPLE__)
inline timespec modified_time(const struct stat& status) noexcept { return status.st_mtimespec; }
inline timespec changed_time(const struct stat& status) noexcept { return status.st_ctimespec; }
#else
inline timespec modified_time(const struct stat& status) noexcept { return status.st_mtim; }
inline timespec changed_time(const struct stat& status) noexcept { return status.st_ctim; }
#endif

}  // namespace paraes::system
