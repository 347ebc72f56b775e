#include "cli/files/output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "cli/arguments/options.hpp"
#include "cli/files/name_probe.hpp"
#include "cli/streams/descriptors.hpp"
#include "cli/words/errors.hpp"
#include "paraes/error.hpp"
#include "src/core/system/outputs.hpp"

namespace paraes::cli {
namespace {

// Whether both are the same file, or the same block device, which can have several nodes.
bool are_same(const struct stat& one, const struct stat& other) {
  if (FileId(one) == FileId(other)) return true;
  return S_ISBLK(one.st_mode) && S_ISBLK(other.st_mode) && one.st_rdev == other.st_rdev;
}

// `path`: "-" is standard output. `insists`: the user does, on binary data on a terminal.
Destination to_descriptor(const FileContext& run, const FileJob& job, const Input& input,
                          int number, const std::string& path, bool insists) {
  const std::string name = output_name(path);
  struct stat status = {};
  if (fstat(number, &status) != 0) throw io_error(name, "open", errno);
  // A terminal or a socket has two separate directions.
  const bool one_way =
      S_ISREG(status.st_mode) || S_ISBLK(status.st_mode) || S_ISFIFO(status.st_mode);
  if (one_way && are_same(status, input.status)) {
    throw refusal("{}: it is the input file itself; write to another file", name);
  }
  run.files.check_named_target(status, name, job.input.shown);
  if (!insists && isatty(number) != 0) {
    throw refusal(
        "{}: it is a terminal, and the output may be binary: redirect it, name a file with -o, or "
        "insist with {}",
        name, path == "-" ? "-o -" : "-f");
  }
  Destination destination;
  destination.descriptor = number;
  destination.path = path;
  return destination;
}

// Refuses an output that would replace a terminal's line by binary data.
void refuse_terminal(const Folder& folder, const std::string& name, const std::string& shown) {
  const Descriptor device(
      openat(folder.descriptor(), name.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  if (device.get() < 0 || isatty(device.get()) == 0) return;  // opening it reports the error
  throw refusal(
      "{}: it is a terminal, and the output may be binary: name a file with -o, or insist with -f",
      shown);
}

void refuse_mount_point(const Place& place, const std::string& shown, Verb verb) {
  system::refuse_mount_point(
      place.open_folder()->descriptor(), place.name(), shown,
      verb == Verb::rekey ? "rekey a copy of it, and write that into it with `cat COPY > FILE`"
                          : "write into it with -c > FILE");
}

mode_t umask_of_process() {
  static const mode_t mask = [] {
    // Before there are threads, there is no need to read /proc, as system::current_umask() does.
    const mode_t found = umask(S_IRWXG | S_IRWXO);
    // Keep the owner's bits of new files: this process must be able to use them.
    umask(found & ~static_cast<mode_t>(S_IRWXU));
    return found;
  }();
  return mask;
}

// Refuses what needs the file behind an input whose name means a descriptor.
void refuse_descriptor(const FileContext& run, const FileJob& job, const Input& input) {
  if (!input.descriptor) return;
  const auto refuse = [&](std::string_view why) {
    throw refusal("{}: it is a file descriptor, {}", job.input.shown, why);
  };
  if (run.plan.verb == Verb::rekey) refuse("and rekey replaces files: name the file itself");
  if (run.plan.removes) refuse("so --rm must not remove it: leave --rm out");
  const Output& output = run.plan.output;
  if (output.replaces_older) refuse("and --update compares files: leave --update out");
  if (!output.path && !output.standard_output) {
    refuse("so its output has no name: give -o FILE or -c");
  }
}

// The place of the file that a symbolic link leads to: the temporary must be on that file's system,
// which may not be the link's.
Place resolved(TreeRoots& roots, Place place) {
  const auto link = status_in(*place.open_folder(), place.name(), false);
  if (!place.follow || (link && !S_ISLNK(link->st_mode))) return place;
  const std::string path = system::path_without_links(place.shown);
  if (path.empty()) throw io_error(place.shown, "open", errno);
  place.root = roots.open(folder_of(path));
  place.path = file_name_of(path);
  return place;
}

// The file that already has the name of an output.
struct Existing {
  struct stat link = {};
  struct stat status = {};  // of what a link leads to, if it is followed
  // False for a dangling link, and one that was not an argument, which is replaced, not followed.
  bool found = false;
};

std::optional<Existing> existing_at(const Destination& destination, const Folder& folder) {
  const std::string name = destination.place.name();
  Existing existing;
  if (fstatat(folder.descriptor(), name.c_str(), &existing.link, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;  // creating it reports the error
    throw io_error(destination.path, "open", errno);
  }
  existing.status = existing.link;
  existing.found = !S_ISLNK(existing.link.st_mode) ||
                   (destination.place.follow &&
                    fstatat(folder.descriptor(), name.c_str(), &existing.status, 0) == 0);
  return existing;
}

// Throws InvalidArgument for what is never replaced, whatever the flags say.
void refuse_existing(FileContext& run, const FileJob& job, const Input& input,
                     const Destination& destination, const struct stat& status) {
  if (are_same(status, input.status)) {
    throw refusal("{}: it is the input file itself; write to another file with -o",
                  destination.path);
  }
  // Where inode numbers are made up, they do not tell.
  if (S_ISREG(status.st_mode) && job.found == nullptr && job.input.root &&
      NameProbe(run.probing).are_one(job.input.shown, destination.path)) {
    throw refusal(
        "{}: its file system takes it for the same name as the input {}; write to another file "
        "with -o",
        destination.path, job.input.shown);
  }
  if (S_ISDIR(status.st_mode)) refuse_folder(destination.path);
  run.files.check_named_target(status, destination.path, job.input.shown);
  if (run.plan.output.replaces_older) run.files.check_not_output(status, destination.path);
}

Destination of_rekey(FileContext& run, const FileJob& job, std::optional<std::string>& shown) {
  Destination destination;
  destination.path = job.input.shown;
  shown = destination.path;
  destination.place = resolved(run.roots, job.input);
  destination.exists = true;
  refuse_mount_point(destination.place, destination.path, run.plan.verb);
  return destination;
}

// The destination of an output with a name, which a file may already have.
Destination by_name(FileContext& run, const FileJob& job, std::optional<std::string>& shown) {
  const std::optional<std::string>& path = run.plan.output.path;
  const Direction direction = run.plan.direction();
  constexpr std::string_view advice = "give -o FILE or -c";
  Destination destination;
  destination.path = job.output ? job.output->shown
                     : path     ? *path
                                : default_name(direction, job.input.shown, advice);
  shown = destination.path;
  destination.place = job.output ? *job.output
                      : path     ? place_of_argument(run.roots, *path, "create")
                                 : beside(direction, job.input, advice);
  return destination;
}

// The destination of an output that is a descriptor of ours; nullopt if it is a file.
std::optional<Destination> by_descriptor(const FileContext& run, const FileJob& job,
                                         const Input& input, std::optional<std::string>& shown) {
  const Output& chosen = run.plan.output;
  const bool insists = chosen.path == "-" || (chosen.descriptor && chosen.replaces_all);
  if (chosen.data_on_stdout) {
    shown.emplace(1, '-');  // with = "-", g++ 12 warns of an overlap
    return to_descriptor(run, job, input, STDOUT_FILENO, *shown, insists || chosen.launched);
  }
  if (!chosen.descriptor) return std::nullopt;
  shown = chosen.path;
  return to_descriptor(run, job, input, *chosen.descriptor, *chosen.path, insists);
}

// The folder of an output; null where a run that makes nothing would have to make it.
std::shared_ptr<const Folder> folder_for(const Plan& plan, const Place& place) try {
  return place.open_folder();
} catch (const IoError& error) {
  if (plan.dry_run && error.code() == ENOENT) return nullptr;
  throw;
}

// Throws InvalidArgument for what the flags do not let the run replace, or write into.
void check_permission(const FileContext& run, const FileJob& job, const Destination& destination,
                      const Folder& folder, const Existing& existing) {
  const auto& [link, status, found] = existing;
  const Output& chosen = run.plan.output;
  // Without -f, what a symbolic link points to is not replaced, however old it is.
  if (chosen.replaces_all || (chosen.replaces_older && S_ISREG(link.st_mode))) return;
  const bool is_named = chosen.path && !job.output;
  if (!found || !is_named || !is_stream(status.st_mode) || chosen.replaces_older) {
    throw refusal("{}: it exists already; overwrite it with -f, or write elsewhere with -o",
                  destination.path);
  }
  if (S_ISCHR(status.st_mode)) {
    refuse_terminal(folder, destination.place.name(), destination.path);
  }
}

// Decides what happens to what has the name of an output.
void choose_for_existing(FileContext& run, const FileJob& job, const Input& input,
                         Destination& destination, const std::shared_ptr<const Folder>& folder,
                         const Existing& existing) {
  const auto& [link, status, found] = existing;
  if (found) refuse_existing(run, job, input, destination, status);
  const auto encrypted = [&] {
    return run.plan.verb == Verb::encrypt ? destination.place : job.input;
  };
  destination.up_to_date = found && run.plan.output.replaces_older &&
                           run.update.leaves_out(input.status, status, folder, encrypted);
  if (destination.up_to_date) return;
  check_permission(run, job, destination, *folder, existing);
  if (found && !S_ISREG(status.st_mode)) {
    if (!destination.place.follow) {
      throw refusal("{}: it exists and is not a regular file; write elsewhere with -o",
                    destination.path);
    }
    destination.written_in_place = true;
    destination.in_place = FileId(status);
    destination.exists = S_ISBLK(status.st_mode);
    return;
  }
  destination.exists = true;
  if (found && S_ISLNK(link.st_mode)) {
    destination.place = resolved(run.roots, std::move(destination.place));
  }
  if (found) refuse_mount_point(destination.place, destination.path, run.plan.verb);
}

}  // namespace

void refuse_folder(const std::string& shown) {
  throw refusal("{}: it is a folder; name the output file in it with -o", shown);
}

void remember_umask() { static_cast<void>(umask_of_process()); }

mode_t default_mode(mode_t mode) { return mode & ~umask_of_process(); }

std::string why_nameless(std::string_view advice) {
  return fmt::format("its name does not end in .paes, so its output has no name: {}", advice);
}

std::string default_name(Direction direction, const std::string& input, std::string_view advice) {
  if (direction == Direction::encrypt) return fmt::format("{}{}", input, suffix);
  if (has_suffix(std::string_view(input).substr(input.rfind('/') + 1))) {
    return input.substr(0, input.size() - suffix.size());
  }
  throw InvalidArgument(why_nameless(advice));
}

Place beside(Direction direction, const Place& input, std::string_view advice) {
  Place output = input;
  output.path = default_name(direction, input.path, advice);
  output.shown = default_name(direction, input.shown, advice);
  return output;
}

Destination choose_destination(FileContext& run, const FileJob& job, const Input& input,
                               std::optional<std::string>& shown) {
  refuse_descriptor(run, job, input);
  if (auto descriptor = by_descriptor(run, job, input, shown)) return *std::move(descriptor);
  if (run.plan.verb == Verb::rekey) return of_rekey(run, job, shown);
  Destination destination = by_name(run, job, shown);
  const auto folder = folder_for(run.plan, destination.place);
  if (!folder) return destination;
  if (const auto existing = existing_at(destination, *folder)) {
    choose_for_existing(run, job, input, destination, folder, *existing);
  }
  return destination;
}

std::unique_ptr<Sink> open_sink(FileContext& run, const FileJob& job,
                                const Destination& destination, const Input& input,
                                TemporaryName& temporary, bool named) {
  if (destination.descriptor) {
    const std::string name = output_name(destination.path);
    return std::make_unique<PipeSink>(duplicate_of(*destination.descriptor, name), name);
  }
  const Place& place = destination.place;
  auto folder = place.open_folder();
  if (destination.written_in_place) {
    // A block device that is mounted, or a part of another one, refuses O_EXCL.
    const int exclusive = destination.exists ? O_EXCL : 0;
    Descriptor descriptor(openat(folder->descriptor(), place.name().c_str(),
                                 O_WRONLY | O_CLOEXEC | O_NOCTTY | exclusive));
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
  // With -f, it also replaces a file that another run has put there by then: the last one wins.
  options.overwrite = destination.exists || run.plan.output.replaces_all;
  options.keep_owner = run.plan.verb == Verb::rekey;
  options.on_temporary = [&temporary](int at, const std::string& name) { temporary.set(at, name); };
  options.leftovers = &run.leftovers;
  options.sync_folder = job.sync_folder;
  options.needs_sync = run.plan.removes;
  options.named = named;
  options.mode = default_mode(0666);
  options.narrow = !encrypts;
  if (run.plan.keeps_attributes) options.attributes = input.attributes;
  options.sparse = !encrypts && run.plan.sparse == Sparse::automatic;
  if (input.is_regular()) {
    system::take_over(options, input.status, input.permissions, encrypts, umask_of_process());
  }
  return std::make_unique<FileSink>(std::move(folder), place.name(), std::move(options),
                                    destination.path);
}

}  // namespace paraes::cli
