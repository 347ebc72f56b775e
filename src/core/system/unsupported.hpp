// What calls on files return where a file system, or a policy, does not have them.
#pragma once

#include <cerrno>
#include <initializer_list>

namespace paraes::system {

// Whether a call failed because the kernel or the file system (FUSE, FAT, network file systems)
// does not have it.
constexpr bool is_unimplemented(int error) noexcept {
  for (const int one : {ENOSYS, EOPNOTSUPP, ENOTSUP, EINVAL}) {  // two are the same on Linux
    if (error == one) return true;
  }
  return false;
}

// The same, or a policy such as SELinux's refuses it. For calls that have a fallback, and for those
// without which no byte is lost: not for fsync(2), which returns such errors of earlier writes.
constexpr bool is_unsupported(int error) noexcept {
  return is_unimplemented(error) || error == EPERM || error == EACCES;
}

}  // namespace paraes::system
