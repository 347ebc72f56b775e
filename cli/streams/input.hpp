// Opens inputs.
#pragma once

#include <sys/stat.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "paraes/attributes.hpp"
#include "paraes/io.hpp"

namespace paraes::cli {

struct Input {
  std::unique_ptr<Source> source;
  struct stat status = {};                // of the open file
  mode_t permissions = 0;                 // if asked for: see paraes::permissions
  std::vector<FileAttribute> attributes;  // if asked for, of a regular file
  // Its name means this descriptor of the process, as /dev/fd/3 does, and it is read from where
  // that is.
  std::optional<int> descriptor;
  [[nodiscard]] bool is_regular() const noexcept { return S_ISREG(status.st_mode); }
};

// Opens `path`, or standard input if that is "-". Errors call it `name`. Throws InvalidArgument for
// a folder, for a name of a descriptor that is not open to read, and for one that was opened
// before; IoError for a file that cannot be opened.
[[nodiscard]] Input open_input(const std::string& path, std::string_view name);

// Opens a secret in the same way. Where `path` means a descriptor, a regular file is read from its
// beginning, however often, so that one descriptor serves several runs.
[[nodiscard]] Input open_secret(const std::string& path, std::string_view name);

// For open_input of cli/files/place.hpp, whose inputs have folders.
struct InputOptions {
  bool permissions = false;  // ask for them
  bool attributes = false;
  bool seeks_in_devices = true;  // block devices can be read at any offset
  std::string_view advice_for_folder = "name a file in it";
};
[[nodiscard]] Input open_standard_input(std::string_view name, const InputOptions& options);
// The open file `descriptor`; without one, errno says why.
[[nodiscard]] Input open_file_input(Descriptor descriptor, std::string_view name,
                                    const InputOptions& options);
// Opens `path` with open_file(flags), unless its name means a descriptor.
[[nodiscard]] Input open_named_input(const std::string& path, std::string_view name, int flags,
                                     const std::function<int(int flags)>& open_file,
                                     const InputOptions& options);

}  // namespace paraes::cli
