#include "src/core/system/outputs.hpp"

#include <unistd.h>

#include <cstdlib>

#include "paraes/error.hpp"
#include "src/core/system/files.hpp"

namespace paraes::system {

std::string path_without_links(const std::string& path) {
  char* const found = realpath(path.c_str(), nullptr);
  if (found == nullptr) return {};
  std::string result = found;
  std::free(found);
  return result;
}

void refuse_mount_point(int folder, const std::string& name, std::string_view shown,
                        std::string_view advice) {
  if (!is_mount_point(folder, name.c_str())) return;
  throw InvalidArgument(std::string(shown)
                            .append(": it is a mount point, as of a file that is mounted into a "
                                    "container, and cannot be replaced: ")
                            .append(advice));
}

void take_over(FileSink::Options& options, const struct stat& input, mode_t permissions,
               bool is_encrypted, mode_t umask) {
  options.narrow = !is_encrypted;
  options.mode = is_encrypted ? permissions : permissions & ~umask;
  options.modified = modified_time(input);
  if (geteuid() == 0) options.owner = {input.st_uid, input.st_gid};
}

}  // namespace paraes::system
