// A library to preload, with which calls fail as on file systems that lack them.
// PARAES_FAILING_CALLS names them with their errors: `linkat=EPERM,fchmod=ENOSYS`; with `=0` a call
// is only counted. PARAES_FAILING_CALLS_LOG is a file to which the name of each call that was met
// is appended.
//
// A file that includes this one may choose the calls itself, by defining PARAES_FIXED_CALLS.
//
// Besides the functions below: `tmpfile` is an open with O_TMPFILE, `create` one with O_CREAT, and
// `openat2` the system call.

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/types.h>

#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

struct Failing {
  std::string call;
  int error;
};

int number_of(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, int>, 14> known = {{
      {"0", 0},
      {"EACCES", EACCES},
      {"EDQUOT", EDQUOT},
      {"EEXIST", EEXIST},
      {"EINVAL", EINVAL},
      {"EIO", EIO},
      {"EISDIR", EISDIR},
      {"EMLINK", EMLINK},
      {"ENOLCK", ENOLCK},
      {"ENOSPC", ENOSPC},
      {"ENOSYS", ENOSYS},
      {"EOPNOTSUPP", EOPNOTSUPP},
      {"EPERM", EPERM},
      {"EROFS", EROFS},
  }};
  for (const auto& [text, number] : known) {
    if (text == name) return number;
  }
  static_cast<void>(
      std::fprintf(stderr, "failing_calls: unknown error %s\n", std::string(name).c_str()));
  std::abort();
}

std::vector<Failing> failing_calls() {
#ifdef PARAES_FIXED_CALLS
  const char* const text = PARAES_FIXED_CALLS;
#else
  const char* const text = std::getenv("PARAES_FAILING_CALLS");
#endif
  std::vector<Failing> calls;
  for (std::string_view rest = text == nullptr ? "" : text; !rest.empty();) {
    const std::string_view item = rest.substr(0, rest.find(','));
    rest.remove_prefix(item.size() == rest.size() ? item.size() : item.size() + 1);
    const std::size_t equal = item.find('=');
    if (equal == std::string_view::npos) number_of(item);
    calls.push_back({std::string(item.substr(0, equal)), number_of(item.substr(equal + 1))});
  }
  return calls;
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

void note(const std::string& call) {
  static const char* const log = std::getenv("PARAES_FAILING_CALLS_LOG");
  if (log == nullptr) return;
  static const int file = next<int(const char*, int, ...)>("open")(
      log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  const std::string line = call + "\n";
  if (next<ssize_t(int, const void*, std::size_t)>("write")(file, line.data(), line.size()) !=
      static_cast<ssize_t>(line.size())) {
    std::abort();
  }
}

// The error with which a call fails; 0 if it does not.
int failure_of(std::string_view call) {
  static const std::vector<Failing> calls = failing_calls();
  for (const Failing& failing : calls) {
    if (failing.call != call) continue;
    const int before = errno;
    note(failing.call);
    errno = before;
    return failing.error;
  }
  return 0;
}

// place: a path, or a folder and a path.
template <class... Place>
int open_or_fail(const char* function, int flags, mode_t mode, Place... place) {
  const bool unnamed = (flags & O_TMPFILE) == O_TMPFILE;
  int error = unnamed ? failure_of("tmpfile") : 0;
  if (!unnamed && (flags & O_CREAT) != 0) error = failure_of("create");
  if (error != 0) {
    errno = error;
    return -1;
  }
  return next<int(Place..., int, ...)>(function)(place..., flags, mode);
}

}  // namespace

#define PARAES_EXPORTED extern "C" __attribute__((visibility("default")))

// PARAES_OPEN(function, (parameters), the place among them…)
#define PARAES_OPEN(function, parameters, ...)                          \
  extern "C" int function parameters;                                   \
  PARAES_EXPORTED int function parameters {                             \
    va_list arguments;                                                  \
    va_start(arguments, flags);                                         \
    const auto mode = static_cast<mode_t>(va_arg(arguments, unsigned)); \
    va_end(arguments);                                                  \
    return open_or_fail(#function, flags, mode, __VA_ARGS__);           \
  }

PARAES_OPEN(open, (const char* path, int flags, ...), path)
PARAES_OPEN(open64, (const char* path, int flags, ...), path)
PARAES_OPEN(openat, (int folder, const char* path, int flags, ...), folder, path)
PARAES_OPEN(openat64, (int folder, const char* path, int flags, ...), folder, path)

// PARAES_FAILING(call, function, type, exceptions, (parameters), arguments…): `call` is its name in
// PARAES_FAILING_CALLS.
#define PARAES_FAILING(call, function, type, exceptions, parameters, ...) \
  PARAES_EXPORTED type function parameters exceptions {                   \
    if (const int error = failure_of(call); error != 0) {                 \
      errno = error;                                                      \
      return -1;                                                          \
    }                                                                     \
    return next<type parameters>(#function)(__VA_ARGS__);                 \
  }

PARAES_FAILING("fchmod", fchmod, int, noexcept, (int file, mode_t mode), file, mode)
PARAES_FAILING("fchown", fchown, int, noexcept, (int file, uid_t owner, gid_t group), file, owner,
               group)
PARAES_FAILING("futimens", futimens, int, noexcept, (int file, const timespec* times), file, times)
PARAES_FAILING("futimens", utimensat, int, noexcept,
               (int folder, const char* path, const timespec* times, int flags), folder, path,
               times, flags)
PARAES_FAILING("linkat", linkat, int, noexcept,
               (int folder, const char* path, int to_folder, const char* to, int flags), folder,
               path, to_folder, to, flags)
PARAES_FAILING("renameat", rename, int, noexcept, (const char* from, const char* to), from, to)
PARAES_FAILING("renameat", renameat, int, noexcept,
               (int folder, const char* from, int to_folder, const char* to), folder, from,
               to_folder, to)
PARAES_FAILING("renameat2", renameat2, int, noexcept,
               (int folder, const char* from, int to_folder, const char* to, unsigned flags),
               folder, from, to_folder, to, flags)
PARAES_FAILING("fsync", fsync, int, , (int file), file)
PARAES_FAILING("fsync", fdatasync, int, , (int file), file)
PARAES_FAILING("mkdirat", mkdirat, int, noexcept, (int folder, const char* path, mode_t mode),
               folder, path, mode)
PARAES_FAILING("mkdirat", mkdir, int, noexcept, (const char* path, mode_t mode), path, mode)
PARAES_FAILING("unlinkat", unlinkat, int, noexcept, (int folder, const char* path, int flags),
               folder, path, flags)
PARAES_FAILING("flock", flock, int, noexcept, (int file, int operation), file, operation)
PARAES_FAILING("ftruncate", ftruncate, int, noexcept, (int file, off_t size), file, size)
PARAES_FAILING("ftruncate", ftruncate64, int, noexcept, (int file, off64_t size), file, size)
PARAES_FAILING("pwrite", pwrite, ssize_t, ,
               (int file, const void* data, std::size_t size, off_t at), file, data, size, at)
PARAES_FAILING("pwrite", pwrite64, ssize_t, ,
               (int file, const void* data, std::size_t size, off64_t at), file, data, size, at)
PARAES_FAILING("copy_file_range", copy_file_range, ssize_t, ,
               (int from, off64_t* at, int to, off64_t* target, std::size_t size, unsigned flags),
               from, at, to, target, size, flags)
PARAES_FAILING("sync_file_range", sync_file_range, int, ,
               (int file, off64_t offset, off64_t size, unsigned flags), file, offset, size, flags)
PARAES_FAILING("fgetxattr", fgetxattr, ssize_t, noexcept,
               (int file, const char* name, void* value, std::size_t size), file, name, value, size)
PARAES_FAILING("fremovexattr", fremovexattr, int, noexcept, (int file, const char* name), file,
               name)
PARAES_FAILING("statfs", statfs, int, noexcept, (const char* path, struct statfs* status), path,
               status)
PARAES_FAILING("statfs", fstatfs, int, noexcept, (int file, struct statfs* status), file, status)
PARAES_FAILING("statfs", statvfs, int, noexcept, (const char* path, struct statvfs* status), path,
               status)
PARAES_FAILING("statfs", fstatvfs, int, noexcept, (int file, struct statvfs* status), file, status)

// It returns its error.
PARAES_EXPORTED int posix_fadvise(int file, off_t offset, off_t size, int advice) noexcept {
  if (const int error = failure_of("posix_fadvise"); error != 0) return error;
  return next<int(int, off_t, off_t, int)>("posix_fadvise")(file, offset, size, advice);
}

PARAES_EXPORTED long syscall(long number, ...) noexcept {  // NOLINT(google-runtime-int): its type
  std::array<long, 6> values{};
  va_list arguments;
  va_start(arguments, number);
  for (long& value : values) value = va_arg(arguments, long);
  va_end(arguments);
#ifdef SYS_openat2
  if (number == SYS_openat2) {
    if (const int error = failure_of("openat2"); error != 0) {
      errno = error;
      return -1;
    }
  }
#endif
  return next<long(long, ...)>("syscall")(number, values[0], values[1], values[2], values[3],
                                          values[4], values[5]);
}
