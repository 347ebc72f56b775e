// A library to preload, with which open(2) refuses O_TMPFILE (unnamed temporary files), as it does
// on NFS, FAT and FUSE file systems.

#include <dlfcn.h>
#include <fcntl.h>

#include <cerrno>
#include <cstdarg>

namespace {

int open_unless_unnamed(const char* function, const char* path, int flags, mode_t mode) {
  if ((flags & O_TMPFILE) == O_TMPFILE) {
    errno = EOPNOTSUPP;
    return -1;
  }
  using Open = int (*)(const char*, int, ...);
  return reinterpret_cast<Open>(dlsym(RTLD_NEXT, function))(path, flags, mode);
}

int openat_unless_unnamed(const char* function, int folder, const char* path, int flags,
                          mode_t mode) {
  if ((flags & O_TMPFILE) == O_TMPFILE) {
    errno = EOPNOTSUPP;
    return -1;
  }
  using Openat = int (*)(int, const char*, int, ...);
  return reinterpret_cast<Openat>(dlsym(RTLD_NEXT, function))(folder, path, flags, mode);
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...);
int open64(const char* path, int flags, ...);
int openat(int folder, const char* path, int flags, ...);
int openat64(int folder, const char* path, int flags, ...);

__attribute__((visibility("default"))) int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const auto mode = static_cast<mode_t>(va_arg(arguments, unsigned));
  va_end(arguments);
  return open_unless_unnamed("open", path, flags, mode);
}

__attribute__((visibility("default"))) int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const auto mode = static_cast<mode_t>(va_arg(arguments, unsigned));
  va_end(arguments);
  return open_unless_unnamed("open64", path, flags, mode);
}

__attribute__((visibility("default"))) int openat(int folder, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const auto mode = static_cast<mode_t>(va_arg(arguments, unsigned));
  va_end(arguments);
  return openat_unless_unnamed("openat", folder, path, flags, mode);
}

__attribute__((visibility("default"))) int openat64(int folder, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const auto mode = static_cast<mode_t>(va_arg(arguments, unsigned));
  va_end(arguments);
  return openat_unless_unnamed("openat64", folder, path, flags, mode);
}
}
