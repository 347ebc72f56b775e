// Programs in PATH.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>

namespace paraes::system {

// The first executable file `name` in the folders of PATH, in which an empty folder is the working
// folder. Empty if there is none.
inline std::string find_in_path(std::string_view name) {
  const char* const path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "/usr/bin:/bin";
  while (!name.empty()) {
    const std::size_t colon = rest.find(':');
    const std::string_view folder = rest.substr(0, colon);
    std::string file(folder.empty() ? "." : folder);
    file.append(1, '/').append(name);
    struct stat status = {};
    const bool is_file = stat(file.c_str(), &status) == 0 && S_ISREG(status.st_mode);
    if (is_file && access(file.c_str(), X_OK) == 0) return file;
    if (colon == std::string_view::npos) break;
    rest.remove_prefix(colon + 1);
  }
  return {};
}

}  // namespace paraes::system
