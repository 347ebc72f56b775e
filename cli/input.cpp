#include "cli/input.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "paraes/error.hpp"

namespace paraes::cli {

namespace {

// `may_seek`: a regular file gets a source that reads at any offset.
Input make_input(Descriptor descriptor, std::string_view name, bool may_seek,
                 bool wants_permissions = false,
                 std::string_view advice_for_folder = "name a file in it") {
  Input input;
  if (descriptor.get() < 0 || fstat(descriptor.get(), &input.status) != 0) {
    throw io_error(name, "open", errno);
  }
  if (S_ISDIR(input.status.st_mode)) {
    throw InvalidArgument(fmt::format("{}: it is a folder; {}", name, advice_for_folder));
  }
  if (wants_permissions) input.permissions = permissions(descriptor.get(), input.status);
  std::string shown(name);
  if (may_seek && input.is_regular()) {
    input.source =
        std::make_unique<FileSource>(std::move(descriptor), std::move(shown), input.status);
  } else {
    input.source = std::make_unique<PipeSource>(std::move(descriptor), std::move(shown));
  }
  return input;
}

// A duplicate: the source closes its descriptor, and no other file may get the number 0.
Descriptor standard_input() { return Descriptor(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)); }

}  // namespace

Input open_input(const std::string& path, std::string_view name) {
  if (path == "-") return make_input(standard_input(), name, false);
  return make_input(Descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY)), name, true);
}

Input open_input(const Place& place, bool permissions, Waits waits) {
  if (!place.root) return make_input(standard_input(), "standard input", false, permissions);
  if (place.follow) {
    const auto folder = place.open_folder();
    return make_input(
        Descriptor(openat(folder->descriptor(), place.name().c_str(),
                          O_RDONLY | O_CLOEXEC | O_NOCTTY | (waits == Waits::no ? O_NONBLOCK : 0))),
        place.shown, true, permissions, "use -r to process the files in it");
  }
  // O_NONBLOCK: if the file has become a pipe, do not wait for a writer.
  constexpr int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  Input input =
      make_input(place.root->open_file(place.path, flags), place.shown, true, permissions);
  if (!input.is_regular()) {
    throw IoError(fmt::format("{}: it is no longer a regular file", place.shown), EIO);
  }
  return input;
}

}  // namespace paraes::cli
