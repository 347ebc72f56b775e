#include "src/io/system/files.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <string>
#include <utility>

#include "src/core/system/files.hpp"

#if defined(SYS_openat2) && __has_include(<linux/openat2.h>)
#include <linux/openat2.h>
#define PARAES_HAS_OPENAT2 1
#endif

namespace paraes::system {
namespace {

// A path through which linkat can give a name to an unnamed file (see O_TMPFILE in open(2)).
std::array<char, 32> path_in_proc(int descriptor) noexcept {
  std::array<char, 32> path{};
  static_cast<void>(std::snprintf(path.data(), path.size(), "/proc/self/fd/%d", descriptor));
  return path;
}

// Whether link_unnamed can work. Without /proc, it cannot be relied on.
bool can_link(int descriptor) noexcept {
  static std::atomic<bool> has_proc = false;  // once found, it stays
  if (has_proc) return true;
  has_proc = access(path_in_proc(descriptor).data(), F_OK) == 0;
  return has_proc;
}

constexpr const char* access_list = "system.posix_acl_access";

}  // namespace

// O_PATH, because one can create files in a folder that one may search but not read.
int folder_flags() noexcept { return O_PATH | O_DIRECTORY | O_CLOEXEC; }

#ifdef PARAES_HAS_OPENAT2

int open_beneath(int folder, const char* path, int flags, mode_t mode) noexcept {
  open_how how = {};
  how.flags = static_cast<std::uint64_t>(static_cast<unsigned>(flags));
  how.mode = mode;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(syscall(SYS_openat2, folder, path, &how, sizeof how));
}

#else

int open_beneath(int /*folder*/, const char* /*path*/, int /*flags*/, mode_t /*mode*/) noexcept {
  errno = ENOSYS;
  return -1;
}

#endif

int open_unnamed(int folder) noexcept {
  const int file = openat(folder, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (file < 0 || can_link(file)) return file;
  close(file);
  return -1;
}

bool link_unnamed(int descriptor, int folder, const char* name) noexcept {
  // Looking a descriptor up in /proc takes half of the time. Linux before 6.10 requires it, unless
  // the process has CAP_DAC_READ_SEARCH, and says ENOENT.
  if (linkat(descriptor, "", folder, name, AT_EMPTY_PATH) == 0) return true;
  if (errno != ENOENT) return false;
  return linkat(AT_FDCWD, path_in_proc(descriptor).data(), folder, name, AT_SYMLINK_FOLLOW) == 0;
}

bool rename_without_replacing(int folder, const char* from, const char* to) noexcept {
  return renameat2(folder, from, folder, to, RENAME_NOREPLACE) == 0;
}

bool start_writing(int file, std::uint64_t offset, std::uint64_t bytes) noexcept {
  return sync_file_range(file, static_cast<off_t>(offset), static_cast<off_t>(bytes),
                         SYNC_FILE_RANGE_WRITE) == 0;
}

ssize_t copy_range(int from, std::uint64_t begin, int to, std::uint64_t offset,
                   std::size_t bytes) noexcept {
  auto at = static_cast<off_t>(begin);
  auto target = static_cast<off_t>(offset);
  return copy_file_range(from, &at, to, &target, bytes, 0);
}

bool sync_to_disk(int descriptor) noexcept { return fsync(descriptor) == 0; }

void expect_sequential_reads(int file) noexcept {
  static_cast<void>(posix_fadvise(file, 0, 0, POSIX_FADV_SEQUENTIAL));
}

void remove_access_list(int descriptor) noexcept {
  static_cast<void>(fremovexattr(descriptor, access_list));
}

bool makes_up_contents(int descriptor) noexcept {
  struct statfs status = {};
  if (fstatfs(descriptor, &status) != 0) return false;
  constexpr std::array<unsigned long, 7> made_up = {
      PROC_SUPER_MAGIC, SYSFS_MAGIC,        DEBUGFS_MAGIC,      TRACEFS_MAGIC,
      SECURITYFS_MAGIC, CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC};
  return std::ranges::count(made_up, static_cast<unsigned long>(status.f_type)) != 0;
}

bool has_attributes() noexcept { return true; }

bool is_access_list(const FileAttribute& attribute) noexcept {
  return attribute.name == access_list || attribute.name == "system.posix_acl_default";
}

bool read_attributes(int descriptor, std::vector<FileAttribute>& attributes) {
  // They may change between two calls.
  const auto read = [](auto& bytes, const auto& call) {
    for (;;) {
      const ssize_t size = call(nullptr, std::size_t{0});
      if (size < 0) return false;
      bytes.resize(static_cast<std::size_t>(size));
      const ssize_t n = size == 0 ? 0 : call(bytes.data(), bytes.size());
      if (n < 0 && errno == ERANGE) continue;
      bytes.resize(static_cast<std::size_t>(n < 0 ? 0 : n));
      return n >= 0;
    }
  };
  std::string names;
  if (!read(names, [&](char* to, std::size_t size) { return flistxattr(descriptor, to, size); })) {
    return is_unsupported(errno);
  }
  for (std::size_t at = 0; at < names.size();) {
    FileAttribute attribute{.name = names.c_str() + at, .value = {}};
    at += attribute.name.size() + 1;
    if (!attribute.name.starts_with("user.") && !is_access_list(attribute)) continue;
    if (read(attribute.value, [&](std::uint8_t* to, std::size_t size) {
          return fgetxattr(descriptor, attribute.name.c_str(), to, size);
        })) {
      attributes.push_back(std::move(attribute));
    } else if (errno != ENODATA) {  // removed meanwhile
      return false;
    }
  }
  return true;
}

bool set_attribute(int descriptor, const FileAttribute& attribute) noexcept {
  const auto& [name, value] = attribute;
  return fsetxattr(descriptor, name.c_str(), value.data(), value.size(), 0) == 0;
}

mode_t permissions(int descriptor, const struct stat& status) noexcept {
  const mode_t mode = status.st_mode & 0777U;
  // The kernel's format (linux/posix_acl_xattr.h), little-endian: a version, then for each entry
  // its tag (2 bytes), its permissions (2 bytes) and the ID of a user or group (4 bytes).
  constexpr std::size_t header = 4;
  constexpr std::size_t entry = 8;
  constexpr std::uint8_t owning_group = 4;
  if ((mode & S_IRWXG) == 0) return mode;  // a list would have this mask
  std::array<std::uint8_t, header + 64 * entry> list{};
  const ssize_t size = fgetxattr(descriptor, access_list, list.data(), list.size());
  if (size < 0) return errno == ERANGE ? mode & S_IRWXU : mode;
  for (std::size_t at = header; at + entry <= static_cast<std::size_t>(size); at += entry) {
    if (list[at] != owning_group || list[at + 1] != 0) continue;
    const mode_t group = static_cast<mode_t>(list[at + 2] & 7U) << 3U;
    return mode & (S_IRWXU | S_IRWXO | group);
  }
  return mode & S_IRWXU;
}

}  // namespace paraes::system
