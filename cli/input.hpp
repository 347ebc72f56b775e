// Opening what is to be read.
#pragma once

#include <sys/stat.h>

#include <memory>
#include <string>
#include <string_view>

#include "paraes/io.hpp"

namespace paraes::cli {

struct Input {
  std::unique_ptr<Source> source;
  struct stat status = {};  // of the open file
};

// Opens `path`, or standard input if that is "-". `name` is what errors call it. A folder is
// InvalidArgument; what cannot be opened is IoError.
[[nodiscard]] Input open_input(const std::string& path, std::string_view name);

}  // namespace paraes::cli
