// Opens inputs.
#pragma once

#include <sys/stat.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cli/files/place.hpp"
#include "paraes/io.hpp"

namespace paraes::cli {

struct Input {
  std::unique_ptr<Source> source;
  struct stat status = {};  // of the open file
  mode_t permissions = 0;   // if asked for: see paraes::permissions
  // Its name means this descriptor of the process, as /dev/fd/3 does, and it is read from where
  // that is.
  std::optional<int> descriptor;
  [[nodiscard]] bool is_regular() const noexcept { return S_ISREG(status.st_mode); }
};

// Opens `path`, or standard input if that is "-". Errors call it `name`. Throws InvalidArgument for
// a folder, for a name of a descriptor that is not open to read, and for one that was opened
// before; IoError for a file that cannot be opened.
[[nodiscard]] Input open_input(const std::string& path, std::string_view name);

// The same for a secret. Where `path` means a descriptor, a regular file is read from its
// beginning, however often, so that one descriptor serves several runs.
[[nodiscard]] Input open_secret(const std::string& path, std::string_view name);

// Whether opening a FIFO waits for a writer.
enum class Waits { no, yes };

// Opens an input of a run, with the exceptions above. Throws IoError also if a file that was found
// in a folder is no longer a regular file, or can only be reached through a symbolic link.
// `permissions`: whether to ask for them.
[[nodiscard]] Input open_input(const Place& place, bool permissions, Waits waits);

}  // namespace paraes::cli
