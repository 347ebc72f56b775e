#include "cli/streams/input.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <utility>

#include "cli/streams/descriptors.hpp"
#include "cli/words/errors.hpp"
#include "src/core/system/descriptors.hpp"

namespace paraes::cli {

namespace {

// `may_seek`: a file gets a source that reads at any offset.
Input make_input(Descriptor descriptor, std::string_view name, bool may_seek,
                 const InputOptions& options) {
  Input input;
  if (descriptor.get() < 0 || fstat(descriptor.get(), &input.status) != 0) {
    throw io_error(name, "open", errno);
  }
  if (S_ISDIR(input.status.st_mode)) {
    throw refusal("{}: it is a folder; {}", name, options.advice_for_folder);
  }
  if (options.permissions) input.permissions = permissions(descriptor.get(), input.status);
  std::string shown(name);
  if (options.attributes && input.is_regular()) {
    input.attributes = file_attributes(descriptor.get(), shown);
  }
  if (may_seek && (input.is_regular() || options.seeks_in_devices)) {
    input.source = source_of(std::move(descriptor), std::move(shown), input.status);
  } else {
    input.source = std::make_unique<PipeSource>(std::move(descriptor), std::move(shown));
  }
  return input;
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
    throw refusal("{}: another input of this run reads this file descriptor", name);
  }
  all.push_back({number, FileId(status)});
}

Input descriptor_input(int number, std::string_view name, const InputOptions& options) {
  check_descriptor(number, name, Access::read);
  Input input = make_input(duplicate_of(number, name), name, false, options);
  claim(number, input.status, name);
  input.descriptor = number;
  return input;
}

struct Opened {
  Descriptor descriptor;      // errno says why there is none
  std::optional<int> number;  // set instead if the name means that descriptor of this process
};

// Opens `path` with open_file(flags). Names that are no links cost no other call.
Opened open_unless_descriptor(const std::string& path, int flags,
                              const std::function<int(int flags)>& open_file) {
  if (const auto number = system::descriptor_in(path)) return {{}, number};
  Descriptor descriptor(open_file(flags | O_NOFOLLOW));
  // BSD has its own error for links that are not followed.
  const bool is_link = descriptor.get() < 0 && (errno == ELOOP || errno == EMLINK);
  if (!is_link) return {std::move(descriptor), std::nullopt};
  if (const auto number = system::descriptor_named(path)) return {{}, number};
  return {Descriptor(open_file(flags)), std::nullopt};
}

constexpr int read_flags = O_RDONLY | O_CLOEXEC | O_NOCTTY;

// Opens `path` by itself.
std::function<int(int flags)> opening(const std::string& path) {
  return [&path](int flags) { return open(path.c_str(), flags); };
}

}  // namespace

// Reads a duplicate: the source closes its descriptor, and no other file may get the number 0.
Input open_standard_input(std::string_view name, const InputOptions& options) {
  return make_input(duplicate_of(STDIN_FILENO, name), name, false, options);
}

Input open_file_input(Descriptor descriptor, std::string_view name, const InputOptions& options) {
  return make_input(std::move(descriptor), name, true, options);
}

Input open_named_input(const std::string& path, std::string_view name, int flags,
                       const std::function<int(int flags)>& open_file,
                       const InputOptions& options) {
  Opened opened = open_unless_descriptor(path, flags, open_file);
  if (opened.number) return descriptor_input(*opened.number, name, options);
  return open_file_input(std::move(opened.descriptor), name, options);
}

Input open_input(const std::string& path, std::string_view name) {
  if (path == "-") return open_standard_input(name, {});
  return open_named_input(path, name, read_flags, opening(path), {});
}

Input open_secret(const std::string& path, std::string_view name) {
  if (path == "-") return open_standard_input(name, {});
  Opened opened = open_unless_descriptor(path, read_flags, opening(path));
  if (opened.number) {
    // Behind a link, it may be one that paraes itself has opened: an input would become its own
    // key.
    if (!system::descriptor_in(path)) check_descriptor(*opened.number, name, Access::read);
    opened.descriptor = duplicate_of(*opened.number, name);
  }
  return open_file_input(std::move(opened.descriptor), name, {});
}

}  // namespace paraes::cli
