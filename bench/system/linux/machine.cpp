#include "bench/system/machine.hpp"

#include <gnu/libc-version.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#include <array>
#include <fstream>

namespace paraes::bench {
namespace {

// The first word of the file; empty if it cannot be read.
std::string first_word_of(const char* path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  // Files of the device tree end with a null character.
  return word.substr(0, word.find('\0'));
}

}  // namespace

std::string microcode() {
  // x86-64. The file below /sys is missing in virtual machines.
  std::ifstream processors("/proc/cpuinfo");
  for (std::string line; std::getline(processors, line);) {
    const std::size_t colon = line.find(": ");
    if (line.rfind("microcode", 0) == 0 && colon != std::string::npos)
      return line.substr(colon + 2);
  }
  return first_word_of("/sys/devices/system/cpu/cpu0/microcode/version");
}

std::string hypervisor_of_system() {
  const std::string type = first_word_of("/sys/hypervisor/type");
  return type.empty() ? first_word_of("/proc/device-tree/hypervisor/compatible") : type;
}

std::string c_library() { return std::string("glibc ") + gnu_get_libc_version(); }

std::string file_system_of(const std::string& path) {
  struct statfs info = {};
  if (statfs(path.c_str(), &info) != 0) return {};
  static constexpr std::array<std::pair<unsigned long, const char*>, 6> known = {
      {{TMPFS_MAGIC, "tmpfs"},
       {EXT4_SUPER_MAGIC, "ext4"},
       {XFS_SUPER_MAGIC, "xfs"},
       {BTRFS_SUPER_MAGIC, "btrfs"},
       {NFS_SUPER_MAGIC, "nfs"},
       {OVERLAYFS_SUPER_MAGIC, "overlayfs"}}};
  for (const auto& [magic, name] : known) {
    if (magic == static_cast<unsigned long>(info.f_type)) return name;
  }
  return "unknown file system";
}

}  // namespace paraes::bench
