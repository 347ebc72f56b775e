#include "input.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "paraes/error.hpp"

namespace paraes::cli {

Input open_input(const std::string& path, std::string_view name) {
  const bool standard = path == "-";
  // A copy, because a source closes its descriptor, and nothing else may get the number 0.
  Descriptor descriptor(standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                                 : open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  Input input;
  if (descriptor.get() < 0 || fstat(descriptor.get(), &input.status) != 0) {
    const int code = errno;
    throw IoError(fmt::format("cannot open {}: {}", name, std::generic_category().message(code)),
                  code);
  }
  if (S_ISDIR(input.status.st_mode)) {
    throw InvalidArgument(fmt::format("{} is a folder; name a file in it", name));
  }
  std::string shown(name);
  if (!standard && S_ISREG(input.status.st_mode)) {
    input.source = std::make_unique<FileSource>(std::move(descriptor), std::move(shown));
  } else {
    input.source = std::make_unique<PipeSource>(std::move(descriptor), std::move(shown));
  }
  return input;
}

}  // namespace paraes::cli
