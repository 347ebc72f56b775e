#include "cli/files/input.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/plan/descriptors.hpp"
#include "paraes/error.hpp"
#include "src/core/system/descriptors.hpp"

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

// From a duplicate: the source closes its descriptor, and no other file may get the number 0.
Input standard_input(std::string_view name, bool wants_permissions = false) {
  return make_input(duplicate_of(STDIN_FILENO, name), name, false, wants_permissions);
}

// Throws InvalidArgument if another input of this process has the same descriptor, or pipe: each
// would get a part of the data.
void claim(int number, const struct stat& status, std::string_view name) {
  struct Claimed {
    int number;
    FileId id;
  };
  static std::mutex mutex;
  static std::vector<Claimed> all;
  const bool is_pipe = S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode);
  const std::lock_guard lock(mutex);
  if (std::any_of(all.begin(), all.end(), [&](const Claimed& other) {
        return other.number == number || (is_pipe && other.id == FileId(status));
      })) {
    throw InvalidArgument(
        fmt::format("{}: another input of this run reads this file descriptor", name));
  }
  all.push_back({number, FileId(status)});
}

Input descriptor_input(int number, std::string_view name, bool wants_permissions) {
  check_descriptor(number, name, Access::read);
  Input input = make_input(duplicate_of(number, name), name, false, wants_permissions,
                           "use -r to process the files in it");
  claim(number, input.status, name);
  input.descriptor = number;
  return input;
}

struct Opened {
  Descriptor descriptor;      // errno says why there is none
  std::optional<int> number;  // set instead if the name means that descriptor of this process
};

// Opens `path` with open_file(flags). Names that are no links cost no other call.
template <class Open>
Opened open_unless_descriptor(const std::string& path, int flags, const Open& open_file) {
  if (const auto number = system::descriptor_in(path)) return {{}, number};
  Descriptor descriptor(open_file(flags | O_NOFOLLOW));
  // BSD has its own error for links that are not followed.
  const bool is_link = descriptor.get() < 0 && (errno == ELOOP || errno == EMLINK);
  if (!is_link) return {std::move(descriptor), std::nullopt};
  if (const auto number = system::descriptor_named(path)) return {{}, number};
  return {Descriptor(open_file(flags)), std::nullopt};
}

Opened open_path(const std::string& path) {
  return open_unless_descriptor(path, O_RDONLY | O_CLOEXEC | O_NOCTTY,
                                [&](int flags) { return open(path.c_str(), flags); });
}

}  // namespace

Input open_input(const std::string& path, std::string_view name) {
  if (path == "-") return standard_input(name);
  Opened opened = open_path(path);
  return opened.number ? descriptor_input(*opened.number, name, false)
                       : make_input(std::move(opened.descriptor), name, true);
}

Input open_secret(const std::string& path, std::string_view name) {
  if (path == "-") return standard_input(name);
  Opened opened = open_path(path);
  if (opened.number) {
    // Behind a link, it may be one that paraes itself has opened: an input would become its own
    // key.
    if (!system::descriptor_in(path)) check_descriptor(*opened.number, name, Access::read);
    opened.descriptor = duplicate_of(*opened.number, name);
  }
  return make_input(std::move(opened.descriptor), name, true);
}

Input open_input(const Place& place, bool permissions, Waits waits) {
  if (!place.root) return standard_input("standard input", permissions);
  if (place.follow) {
    const int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | (waits == Waits::no ? O_NONBLOCK : 0);
    Opened opened = open_unless_descriptor(place.shown, flags, [&](int all_flags) {
      const auto folder = place.open_folder();
      return openat(folder->descriptor(), place.name().c_str(), all_flags);
    });
    return opened.number ? descriptor_input(*opened.number, place.shown, permissions)
                         : make_input(std::move(opened.descriptor), place.shown, true, permissions,
                                      "use -r to process the files in it");
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
