// Opening what is to be read.
#pragma once

#include <sys/stat.h>

#include <memory>
#include <string>
#include <string_view>

#include "cli/place.hpp"
#include "paraes/io.hpp"

namespace paraes::cli {

struct Input {
  std::unique_ptr<Source> source;
  struct stat status = {};  // of the open file
  mode_t permissions = 0;   // see paraes::permissions
  [[nodiscard]] bool is_regular() const noexcept { return S_ISREG(status.st_mode); }
};

// Opens `path`, or standard input if that is "-". `name` is what errors call it. A folder is
// InvalidArgument; what cannot be opened is IoError.
[[nodiscard]] Input open_input(const std::string& path, std::string_view name);

// Opens a file of a run. What was found in a folder must be a regular file still, reached without
// symbolic links: else it is IoError.
[[nodiscard]] Input open_input(const Place& place);

}  // namespace paraes::cli
