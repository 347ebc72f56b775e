#include "output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <system_error>
#include <utility>

#include "paraes/error.hpp"

namespace paraes::cli {
namespace {

[[noreturn]] void fail_open(const std::string& path, int code) {
  throw IoError(fmt::format("cannot open {}: {}", path, std::generic_category().message(code)),
                code);
}

bool same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

Destination to_standard_output(const Input& input, bool may_be_terminal) {
  struct stat status = {};
  if (fstat(STDOUT_FILENO, &status) != 0) fail_open("standard output", errno);
  if (S_ISREG(status.st_mode) && same_file(status, input.status)) {
    throw InvalidArgument("standard output is the input file itself; write to another file");
  }
  if (!may_be_terminal && isatty(STDOUT_FILENO) != 0) {
    throw InvalidArgument(
        "the output may be binary and standard output is a terminal: redirect it, or name a file "
        "with -o, or insist with -o -");
  }
  Destination destination;
  destination.standard_output = true;
  destination.path.assign(1, '-');  // g++ 12 warns of an overlap that is none for = "-"
  return destination;
}

// The mode that a new file gets from open with 0666. umask can only be asked by changing it, which
// other threads would notice: main asks first.
mode_t default_mode() {
  static const mode_t mode = [] {
    const mode_t mask = umask(0);
    umask(mask);
    return 0666U & ~mask;
  }();
  return mode;
}

}  // namespace

void remember_umask() { static_cast<void>(default_mode()); }

std::string default_name(Direction direction, const std::string& input) {
  if (direction == Direction::encrypt) return fmt::format("{}{}", input, suffix);
  const std::string_view name = std::string_view(input).substr(input.rfind('/') + 1);
  if (name.size() > suffix.size() && name.substr(name.size() - suffix.size()) == suffix) {
    return input.substr(0, input.size() - suffix.size());
  }
  throw InvalidArgument(fmt::format(
      "{} does not end in .paes, so the output has no name: give -o FILE or -c", input));
}

Destination choose_destination(Direction direction, const std::string& input_path,
                               const Input& input, const OutputOptions& options) {
  if (options.path_given && options.standard_output && options.path != "-") {
    throw InvalidArgument("-c and -o name two outputs; give one");
  }
  if (options.path_given && options.path.empty()) throw InvalidArgument("-o has an empty name");
  if (options.path_given && options.path == "-") return to_standard_output(input, true);
  if (options.standard_output || (!options.path_given && input_path == "-")) {
    return to_standard_output(input, options.launched);
  }

  Destination destination;
  destination.path = options.path_given ? options.path : default_name(direction, input_path);
  destination.target = destination.path;
  struct stat link = {};
  struct stat status = {};
  if (lstat(destination.path.c_str(), &link) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return destination;  // creating it says what is wrong
    fail_open(destination.path, errno);
  }
  // A link that leads nowhere is replaced itself.
  const bool found = stat(destination.path.c_str(), &status) == 0;
  if (found && same_file(status, input.status)) {
    throw InvalidArgument(fmt::format("{} is the input file itself; write to another file with -o",
                                      destination.path));
  }
  if (found && S_ISDIR(status.st_mode)) {
    throw InvalidArgument(
        fmt::format("{} is a folder; name the output file in it with -o", destination.path));
  }
  if (!options.force) {
    throw InvalidArgument(fmt::format(
        "{} exists already; overwrite it with -f, or write elsewhere with -o", destination.path));
  }
  if (found && !S_ISREG(status.st_mode)) {
    destination.written_in_place = true;
    return destination;
  }
  destination.exists = true;
  if (found && S_ISLNK(link.st_mode)) {
    // The temporary must be on the file system of the file, not on that of the link.
    char* resolved = realpath(destination.path.c_str(), nullptr);
    if (resolved == nullptr) fail_open(destination.path, errno);
    destination.target = resolved;
    std::free(resolved);
  }
  return destination;
}

std::unique_ptr<Sink> open_sink(const Destination& destination, const Input& input,
                                TemporaryName& temporary, bool sync_folder, bool named) {
  if (destination.standard_output) {
    Descriptor descriptor(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
    if (descriptor.get() < 0) fail_open("standard output", errno);
    return std::make_unique<PipeSink>(std::move(descriptor), "standard output");
  }
  if (destination.written_in_place) {
    Descriptor descriptor(open(destination.path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
    if (descriptor.get() < 0) fail_open(destination.path, errno);
    return std::make_unique<PipeSink>(std::move(descriptor), destination.path);
  }
  FileSink::Options options;
  options.overwrite = destination.exists;
  options.on_temporary = [&temporary](const std::string& name) { temporary.set(name); };
  options.sync_folder = sync_folder;
  options.named = named;
  options.mode = default_mode();
  if (S_ISREG(input.status.st_mode)) {
    // Permission bits alone: a set-user-ID bit on ciphertext means nothing.
    options.mode = input.status.st_mode & 0777U;
    options.modified = input.status.st_mtim;
  }
  return std::make_unique<FileSink>(destination.target, std::move(options));
}

}  // namespace paraes::cli
