#include "src/core/system/folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string_view>

namespace paraes::system {

bool visit_names(int folder, const char* path, const std::function<void(const char* name)>& visit) {
  const int list = openat(folder, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (list < 0) return false;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(fdopendir(list), closedir);
  if (!entries) {
    const int code = errno;
    close(list);
    errno = code;
    return false;
  }
  for (;;) {
    errno = 0;
    const dirent* const entry = readdir(entries.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") visit(entry->d_name);
  }
  return errno == 0;
}

}  // namespace paraes::system
