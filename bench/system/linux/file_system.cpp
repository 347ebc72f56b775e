#include "bench/system/file_system.hpp"

#include <linux/magic.h>
#include <sys/vfs.h>

namespace paraes::bench {

std::string file_system_of(const std::string& path) {
  struct statfs info = {};
  if (statfs(path.c_str(), &info) != 0) return {};
  switch (info.f_type) {
    case TMPFS_MAGIC:
      return "tmpfs";
    case EXT4_SUPER_MAGIC:
      return "ext4";
    case XFS_SUPER_MAGIC:
      return "xfs";
    case BTRFS_SUPER_MAGIC:
      return "btrfs";
    case NFS_SUPER_MAGIC:
      return "nfs";
    case OVERLAYFS_SUPER_MAGIC:
      return "overlayfs";
    default:
      return "unknown file system";
  }
}

}  // namespace paraes::bench
