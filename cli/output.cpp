#include "cli/output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "cli/run_context.hpp"
#include "paraes/error.hpp"
#include "src/core/system/file_times.hpp"

namespace paraes::cli {
namespace {

Destination to_standard_output(const RunContext& run, const FileJob& job, const Input& input,
                               bool may_be_terminal) {
  struct stat status = {};
  if (fstat(STDOUT_FILENO, &status) != 0) throw io_error("standard output", "open", errno);
  if (S_ISREG(status.st_mode) && FileId(status) == FileId(input.status)) {
    throw InvalidArgument("standard output: it is the input file itself; write to another file");
  }
  run.files.check_secret_target(status, "standard output", job.input.shown);
  if (!may_be_terminal && isatty(STDOUT_FILENO) != 0) {
    throw InvalidArgument(
        "standard output: it is a terminal, and the output may be binary: redirect it, name a file "
        "with -o, or insist with -o -");
  }
  Destination destination;
  destination.standard_output = true;
  destination.path.assign(1, '-');  // with = "-", g++ 12 warns of an overlap
  return destination;
}

mode_t umask_of_process() {
  static const mode_t mask = [] {
    const mode_t found = umask(0);
    // Keep the owner's bits of new files: this process must be able to use them.
    umask(found & ~static_cast<mode_t>(S_IRWXU));
    return found;
  }();
  return mask;
}

// The place of the file that a symbolic link leads to: the temporary must be on that file's system,
// which may not be the link's.
Place resolved(TreeRoots& roots, Place place) {
  struct stat link = {};
  const auto folder = place.open_folder();
  const bool known =
      fstatat(folder->descriptor(), place.name().c_str(), &link, AT_SYMLINK_NOFOLLOW) == 0;
  if (!place.follow || (known && !S_ISLNK(link.st_mode))) return place;
  char* const name = realpath(place.shown.c_str(), nullptr);
  if (name == nullptr) throw io_error(place.shown, "open", errno);
  const std::string path = name;
  std::free(name);
  place.root = roots.open(folder_of(path));
  place.path = file_name_of(path);
  return place;
}

}  // namespace

void remember_umask() { static_cast<void>(umask_of_process()); }

mode_t default_mode(mode_t mode) { return mode & ~umask_of_process(); }

bool goes_to_standard_output(const OutputOptions& options, bool data_on_stdin) {
  if (options.standard_output) return true;
  return options.path_given ? options.path == "-" : data_on_stdin;
}

bool names_folder(const OutputOptions& options) {
  if (!options.path_given || options.path.empty() || options.path == "-") return false;
  struct stat status = {};
  return options.path.back() == '/' ||
         (stat(options.path.c_str(), &status) == 0 && S_ISDIR(status.st_mode));
}

bool is_up_to_date(const struct stat& input, const struct stat& output) {
  if (!S_ISREG(output.st_mode) || FileId(input) == FileId(output)) return false;
  constexpr std::int64_t second = 1'000'000'000;
  // In 64 bits, nanoseconds since 1970 last until 2262.
  const auto nanoseconds = [](const timespec& time) { return time.tv_sec * second + time.tv_nsec; };
  const std::int64_t in = nanoseconds(system::modified_time(input));
  const std::int64_t out = nanoseconds(system::modified_time(output));
  if (out >= in) return true;
  // Outputs get the time of their inputs, in the steps that their file system stores: 100 ns over
  // SMB, 1 µs, 10 ms (exFAT), 1 s, or 2 s (FAT). The time of the last change, which nobody can set,
  // tells a file system of such steps from a time that happens to be round.
  constexpr std::array<std::int64_t, 5> steps = {100, 1000, second / 100, second, 2 * second};
  const std::int64_t changed = nanoseconds(system::changed_time(output));
  return std::any_of(steps.begin(), steps.end(), [&](std::int64_t step) {
    return out % step == 0 && changed % step == 0 && in - out < step;
  });
}

std::string default_name(Direction direction, const std::string& input, std::string_view advice) {
  if (direction == Direction::encrypt) return fmt::format("{}{}", input, suffix);
  const std::string_view name = std::string_view(input).substr(input.rfind('/') + 1);
  if (name.size() > suffix.size() && name.substr(name.size() - suffix.size()) == suffix) {
    return input.substr(0, input.size() - suffix.size());
  }
  throw InvalidArgument(
      fmt::format("its name does not end in .paes, so its output has no name: {}", advice));
}

Place beside(Direction direction, const Place& input, std::string_view advice) {
  Place output = input;
  output.path = default_name(direction, input.path, advice);
  output.shown = default_name(direction, input.shown, advice);
  return output;
}

Destination choose_destination(RunContext& run, const FileJob& job, const Input& input,
                               std::optional<std::string>& shown) {
  const OutputOptions& options = run.options.output;
  const Direction direction = run.plan.direction();
  constexpr std::string_view name_it = "give -o FILE or -c";
  if (goes_to_standard_output(options, !job.input.root)) {
    shown.emplace(1, '-');  // with = "-", g++ 12 warns of an overlap
    return to_standard_output(run, job, input, options.launched || options.path == "-");
  }

  Destination destination;
  if (run.plan.verb == Verb::rekey) {
    destination.path = job.input.shown;
    shown = destination.path;
    destination.place = resolved(run.roots, job.input);
    destination.exists = true;
    return destination;
  }
  destination.path = job.output           ? job.output->shown
                     : options.path_given ? options.path
                                          : default_name(direction, job.input.shown, name_it);
  shown = destination.path;
  destination.place = job.output           ? *job.output
                      : options.path_given ? place_of_argument(run.roots, options.path, "create")
                                           : beside(direction, job.input, name_it);
  const auto folder = destination.place.open_folder();
  const std::string name = destination.place.name();
  struct stat link = {};
  if (fstatat(folder->descriptor(), name.c_str(), &link, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return destination;  // creating it reports the error
    throw io_error(destination.path, "open", errno);
  }
  // A dangling link, or one that was not an argument, is replaced, not followed.
  struct stat status = link;
  bool found = !S_ISLNK(link.st_mode);
  if (S_ISLNK(link.st_mode) && destination.place.follow) {
    found = fstatat(folder->descriptor(), name.c_str(), &status, 0) == 0;
  }
  if (found && FileId(status) == FileId(input.status)) {
    throw InvalidArgument(fmt::format(
        "{}: it is the input file itself; write to another file with -o", destination.path));
  }
  if (found && S_ISDIR(status.st_mode)) {
    throw InvalidArgument(
        fmt::format("{}: it is a folder; name the output file in it with -o", destination.path));
  }
  if (found) run.files.check_secret_target(status, destination.path, job.input.shown);
  if (found && options.update) run.files.check_not_output(status, destination.path);
  if (found && options.update && is_up_to_date(input.status, status)) {
    destination.up_to_date = true;
    return destination;
  }
  // Without -f, what a symbolic link points to is not replaced, however old it is.
  if (!options.force && !(options.update && S_ISREG(link.st_mode))) {
    throw InvalidArgument(
        fmt::format("{}: it exists already; overwrite it with -f, or write elsewhere with -o",
                    destination.path));
  }
  if (found && !S_ISREG(status.st_mode)) {
    if (!destination.place.follow) {
      throw InvalidArgument(fmt::format(
          "{}: it exists and is not a regular file; write elsewhere with -o", destination.path));
    }
    destination.written_in_place = true;
    destination.in_place = FileId(status);
    return destination;
  }
  destination.exists = true;
  if (found && S_ISLNK(link.st_mode)) {
    destination.place = resolved(run.roots, std::move(destination.place));
  }
  return destination;
}

std::unique_ptr<Sink> open_sink(RunContext& run, const FileJob& job, const Destination& destination,
                                const Input& input, TemporaryName& temporary, bool named) {
  if (destination.standard_output) {
    Descriptor descriptor(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
    if (descriptor.get() < 0) throw io_error("standard output", "open", errno);
    return std::make_unique<PipeSink>(std::move(descriptor), "standard output");
  }
  const Place& place = destination.place;
  auto folder = place.open_folder();
  if (destination.written_in_place) {
    Descriptor descriptor(
        openat(folder->descriptor(), place.name().c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
    struct stat status = {};
    if (descriptor.get() < 0 || fstat(descriptor.get(), &status) != 0) {
      throw io_error(destination.path, "open", errno);
    }
    if (FileId(status) != destination.in_place) {
      throw IoError(fmt::format("{}: another file has taken its place", destination.path), EIO);
    }
    return std::make_unique<PipeSink>(std::move(descriptor), destination.path);
  }
  // A file that stays encrypted, or becomes so, keeps its mode.
  const bool encrypts = run.plan.verb != Verb::decrypt;
  FileSink::Options options;
  // With -f also what another run has put there by then: the last one wins.
  options.overwrite = destination.exists || run.options.output.force;
  options.narrow = !encrypts;
  options.keep_owner = run.plan.verb == Verb::rekey;
  options.on_temporary = [&temporary](int at, const std::string& name) { temporary.set(at, name); };
  options.leftovers = &run.leftovers;
  options.sync_folder = job.sync_folder;
  options.needs_sync = run.options.remove;
  options.named = named;
  options.mode = default_mode(0666);
  if (input.is_regular()) {
    // Permission bits alone: a set-user-ID bit on ciphertext means nothing.
    const mode_t mode = input.permissions;
    options.mode = encrypts ? mode : default_mode(mode);
    options.modified = system::modified_time(input.status);
  }
  return std::make_unique<FileSink>(std::move(folder), place.name(), std::move(options),
                                    destination.path);
}

}  // namespace paraes::cli
