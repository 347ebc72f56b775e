#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <string_view>
#include <utility>

#include "paraes/error.hpp"
#include "paraes/io.hpp"
#include "src/core/system/files.hpp"
#include "src/io/calls.hpp"
#include "src/io/system/files.hpp"

namespace paraes {
namespace {

bool is_link(int folder, const char* name) {
  struct stat status = {};
  return fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode);
}

// Opens one component after the other, for kernels without openat2, for sandboxes that forbid it,
// and for paths longer than one call allows.
Descriptor open_stepwise(int folder, std::string_view path, int flags, mode_t mode) {
  if (path.starts_with('/')) {
    errno = EXDEV;
    return {};
  }
  Descriptor current;
  int at = folder;
  for (;;) {
    const std::size_t slash = path.find('/');
    const std::string name(path.substr(0, slash));
    const bool last = slash == std::string_view::npos;
    if (name == "..") {
      errno = EXDEV;
      return {};
    }
    const int how = last ? flags : system::folder_flags();
    Descriptor next(openat(at, name.empty() ? "." : name.c_str(), how | O_NOFOLLOW, mode));
    if (next.get() < 0) {
      const int error = errno;
      errno = error == ENOTDIR && is_link(at, name.c_str()) ? ELOOP : error;
      return {};
    }
    if (last) return next;
    current = std::move(next);
    at = current.get();
    path.remove_prefix(slash + 1);
  }
}

}  // namespace

namespace calls {

Descriptor open_beneath(int folder, const std::string& path, int flags, mode_t mode) {
  flags |= O_CLOEXEC;
  const int number = system::open_beneath(folder, path.empty() ? "." : path.c_str(), flags, mode);
  if (number >= 0) return Descriptor(number);
  // Some sandboxes return EPERM for a system call that they do not know.
  if (errno != ENOSYS && errno != EPERM && errno != ENAMETOOLONG && errno != EAGAIN) return {};
  return open_stepwise(folder, path, flags, mode);
}

}  // namespace calls

Folder::Folder(const std::string& path)
    : Folder(Descriptor(::open(path.c_str(), system::folder_flags())), path) {}

Folder::Folder(Descriptor descriptor, std::string name)
    : descriptor_(std::move(descriptor)), name_(std::move(name)) {
  struct stat status = {};
  if (descriptor_.get() < 0 || fstat(descriptor_.get(), &status) != 0) {
    calls::fail("open", name_, errno);
  }
  id_ = FileId(status);
}

std::string Folder::name_of(const std::string& path) const {
  if (path.empty()) return name_;
  if (name_.empty() || name_ == ".") return path;
  return name_.back() == '/' ? name_ + path : name_ + "/" + path;
}

Folder Folder::open_folder(const std::string& path) const {
  Descriptor descriptor = calls::open_beneath(descriptor_.get(), path, system::folder_flags(), 0);
  if (descriptor.get() < 0) calls::fail("open", name_of(path), errno);
  return {std::move(descriptor), name_of(path)};
}

Descriptor Folder::open_file(const std::string& path, int flags, mode_t mode) const {
  Descriptor descriptor = calls::open_beneath(descriptor_.get(), path, flags, mode);
  if (descriptor.get() < 0) calls::fail("open", name_of(path), errno);
  return descriptor;
}

void Folder::sync(bool needed) const {
  if (const int error = try_sync(needed)) calls::fail("sync", name_, error);
}

int Folder::try_sync(bool needed) const noexcept {
  const Descriptor descriptor(openat(descriptor_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (descriptor.get() < 0) {
    return errno == EACCES && !needed ? 0 : errno;
  }
  // Some file systems cannot sync a folder.
  if (system::sync_to_disk(descriptor.get()) || errno == EROFS) return 0;
  return system::is_unimplemented(errno) ? 0 : errno;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string file_name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace paraes
