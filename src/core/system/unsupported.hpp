// What calls on files return where a file system, or a policy, does not have them.
#pragma once

#include <cerrno>

namespace paraes::system {

// Whether a call on a file failed because it is not to be had here: the file system does not have
// it (FUSE, FAT, network file systems), the kernel does not know it, or a policy such as SELinux's
// refuses it. For calls that have a fallback, and for those without which nothing is lost.
constexpr bool is_unsupported(int error) noexcept {
  return error == ENOSYS || error == EOPNOTSUPP || error == ENOTSUP || error == EINVAL ||
         error == EPERM || error == EACCES;
}

}  // namespace paraes::system
