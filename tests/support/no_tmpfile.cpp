// A library to preload, with which open(2) refuses O_TMPFILE (unnamed temporary files), as it does
// on NFS, FAT and FUSE file systems.

#include <dlfcn.h>
#include <fcntl.h>

#include <cerrno>
#include <cstdarg>

namespace {

// place: a path, or a folder and a path.
template <class... Place>
int open_unless_unnamed(const char* function, int flags, mode_t mode, Place... place) {
  if ((flags & O_TMPFILE) == O_TMPFILE) {
    errno = EOPNOTSUPP;
    return -1;
  }
  using Open = int (*)(Place..., int, ...);
  return reinterpret_cast<Open>(dlsym(RTLD_NEXT, function))(place..., flags, mode);
}

}  // namespace

// PARAES_OPEN(function, (parameters), the place among them…)
#define PARAES_OPEN(function, parameters, ...)                                \
  extern "C" int function parameters;                                         \
  extern "C" __attribute__((visibility("default"))) int function parameters { \
    va_list arguments;                                                        \
    va_start(arguments, flags);                                               \
    const auto mode = static_cast<mode_t>(va_arg(arguments, unsigned));       \
    va_end(arguments);                                                        \
    return open_unless_unnamed(#function, flags, mode, __VA_ARGS__);          \
  }

PARAES_OPEN(open, (const char* path, int flags, ...), path)
PARAES_OPEN(open64, (const char* path, int flags, ...), path)
PARAES_OPEN(openat, (int folder, const char* path, int flags, ...), folder, path)
PARAES_OPEN(openat64, (int folder, const char* path, int flags, ...), folder, path)
