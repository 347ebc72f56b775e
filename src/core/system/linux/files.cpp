#include "src/core/system/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>

namespace paraes::system {

bool is_mount_point(int folder, const char* name) noexcept {
#ifdef STATX_ATTR_MOUNT_ROOT
  struct statx status = {};
  constexpr int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC;
  return statx(folder, name, flags, 0, &status) == 0 &&
         (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
#else
  static_cast<void>(folder);
  static_cast<void>(name);
  return false;
#endif
}

}  // namespace paraes::system
