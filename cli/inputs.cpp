#include "cli/inputs.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <numeric>
#include <set>
#include <utility>

#include "cli/exclude.hpp"
#include "cli/output.hpp"
#include "cli/report.hpp"
#include "paraes/error.hpp"

namespace paraes::cli {
namespace {

namespace fs = std::filesystem;

bool has_suffix(const std::string& name) {
  return name.size() > suffix.size() &&
         name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0;
}

// The names in a folder, sorted.
std::vector<std::string> names_in(const Folder& folder) {
  const int list = openat(folder.descriptor(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const entries = list < 0 ? nullptr : fdopendir(list);
  if (entries == nullptr) {
    const int code = errno;
    if (list >= 0) close(list);
    throw io_error(folder.name(), "read", code);
  }
  const std::unique_ptr<DIR, int (*)(DIR*)> closing(entries, closedir);
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const dirent* entry = readdir(entries);
    if (entry == nullptr) break;
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  if (errno != 0) throw io_error(folder.name(), "read", errno);
  std::sort(names.begin(), names.end());
  return names;
}

// How the summary names entries that were skipped for one reason.
struct SkipText {
  const char* reason;  // of one entry
  const char* one;
  const char* many;
};

SkipText text_of(Skip why, Verb verb) {
  switch (why) {
    case Skip::name:
      if (verb == Verb::encrypt) return {"a *.paes file", "*.paes file", "*.paes files"};
      return {"not a *.paes file", "file that is not *.paes", "files that are not *.paes"};
    case Skip::link:
      return {"a symbolic link", "symbolic link", "symbolic links"};
    case Skip::output:
      return {"the output folder", "output folder", "output folders"};
    case Skip::special:
      return {"a special file", "special file", "special files"};
    case Skip::temporary:
      return {"a temporary file of another run", "temporary file of another run",
              "temporary files of other runs"};
    case Skip::excluded:
      break;
  }
  return {"--exclude matches it", "that --exclude matches", "that --exclude matches"};
}

class Finder {
 public:
  Finder(const CryptOptions& options, Verb verb, TreeRoots& roots, ProtectedFiles& files)
      : options_(options),
        verb_(verb),
        roots_(roots),
        files_(files),
        exclusions_(options.exclude),
        found_((options.verbose && !options.quiet) || options.json) {
    if (options.output.path_given && verb != Verb::verify) {
      found_.outputs.emplace(roots, options.output.path);
    }
  }

  Found run() {
    for (const std::string& input : options_.inputs) add_argument(input);
    files_.inputs_are_complete();
    refuse_outputs_over_inputs();
    return std::move(found_);
  }

 private:
  // A folder that has not been searched yet.
  struct Pending {
    std::string path;      // below its root
    std::string shown;     // ends in '/'
    std::string mirrored;  // its path below the folder of -o; empty or ends in '/'
  };

  void add_argument(const std::string& input) {
    struct stat status = {};
    if (stat(input.c_str(), &status) != 0) {
      const int code = errno;
      const bool recipient = options_.recursive && input.rfind("age1", 0) == 0;
      refuse(input,
             std::string(io_error(input_name(input), "open", code).what()) +
                 (recipient ? " (-r is short for --recursive, and names no recipient)" : ""),
             1);
      return;
    }
    const bool folder = S_ISDIR(status.st_mode);
    // "photos/" and "photos" mirror the folder; "photos/." and ".." mirror only its contents.
    fs::path path(input);
    if (folder && !path.has_filename()) path = path.parent_path();
    const std::string name = path.filename().string();
    if (exclusions_.match(name, input, folder)) {
      found_.skipped.add(input, Skip::excluded);
      return;
    }
    try {
      if (!folder) {
        const Place place = place_of_argument(roots_, input, "open");
        add_file(place, name, status, *place.open_folder(), "");
      } else if (options_.recursive) {
        const bool unnamed = name == "." || name == ".." || name.empty();
        const std::size_t before = inputs_so_far();
        const std::uint64_t folders = found_.folders;
        const std::uint64_t skipped = found_.skipped.total();
        add_tree(roots_.open(input), {.path = "",
                                      .shown = input.back() == '/' ? input : input + "/",
                                      .mirrored = unnamed ? "" : name + "/"});
        const bool only_folders = found_.folders != folders && found_.skipped.total() == skipped;
        if (inputs_so_far() == before && !only_folders) found_.without_any.push_back(input);
      } else {
        refuse(input, input + ": it is a folder; use -r to process the files in it", 2);
      }
    } catch (const IoError& error) {
      refuse(input, error.what(), 1);
    }
  }

  // Iterative: folders can be nested deeper than the stack allows calls.
  void add_tree(const std::shared_ptr<const TreeRoot>& root, Pending top) {
    std::vector<Pending> stack;
    stack.push_back(std::move(top));
    while (!stack.empty()) {
      const Pending pending = std::move(stack.back());
      stack.pop_back();
      try {
        search(root, pending, stack);
      } catch (const IoError& error) {
        refuse(pending.shown.substr(0, pending.shown.size() - 1), error.what(), 1);
      }
    }
  }

  void search(const std::shared_ptr<const TreeRoot>& root, const Pending& pending,
              std::vector<Pending>& stack) {
    const auto opened = root->open(pending.path);
    const Folder& folder = *opened;
    mirror(folder, pending.mirrored);
    const std::string prefix = pending.path.empty() ? "" : pending.path + "/";
    const std::size_t first = stack.size();
    for (const std::string& name : names_in(folder)) {
      struct stat status = {};
      const std::string path = prefix + name;
      const std::string shown = pending.shown + name;
      if (fstatat(folder.descriptor(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
        refuse(shown, io_error(shown, "open", errno).what(), 1);
      } else if (const auto why = why_skipped(name, path, shown, status)) {
        found_.skipped.add(shown, *why);
      } else if (S_ISDIR(status.st_mode)) {
        ++found_.folders;
        stack.push_back({path, shown + "/", pending.mirrored + name + "/"});
      } else {
        add_file({.root = root, .path = path, .shown = shown}, pending.mirrored + name, status,
                 folder, path);
      }
    }
    std::reverse(stack.begin() + static_cast<std::ptrdiff_t>(first), stack.end());
  }

  // Why an entry of a folder is not an input; nullopt if it is one.
  [[nodiscard]] std::optional<Skip> why_skipped(const std::string& name, const std::string& path,
                                                const std::string& shown,
                                                const struct stat& status) const {
    const bool folder = S_ISDIR(status.st_mode);
    if (exclusions_.match(path, shown, folder)) return Skip::excluded;
    if (S_ISLNK(status.st_mode)) return Skip::link;
    // The outputs of an earlier run are not inputs.
    if (folder && found_.outputs && found_.outputs->is_top(status)) return Skip::output;
    if (folder) return std::nullopt;
    if (!S_ISREG(status.st_mode)) return Skip::special;
    if (is_temporary_name(name)) return Skip::temporary;
    if (has_suffix(name) == (verb_ == Verb::encrypt)) return Skip::name;
    return std::nullopt;
  }

  [[nodiscard]] std::size_t inputs_so_far() const {
    return found_.files.size() + found_.up_to_date.size() + found_.refused.size();
  }

  void mirror(const Folder& folder, const std::string& mirrored) {
    if (!found_.outputs) return;
    struct stat status = {};
    if (fstat(folder.descriptor(), &status) != 0) throw io_error(folder.name(), "open", errno);
    const std::string path = mirrored.empty() ? "" : mirrored.substr(0, mirrored.size() - 1);
    found_.outputs->add_folder(path, status.st_mode & 0777U);
  }

  // `folder` holds the input. `found_as`: see ProtectedFiles::check_input.
  void add_file(Place input, const std::string& mirrored, const struct stat& status,
                const Folder& folder, const std::string& found_as) {
    files_.check_input(status, input.shown, found_as);
    files_.add_input(FileId(status));
    FoundFile file;
    file.job.threads = options_.threads;
    file.job.sync_folder = false;
    file.bytes = static_cast<std::uint64_t>(status.st_size);
    file.regular = S_ISREG(status.st_mode);
    if (verb_ != Verb::verify) {
      const Direction direction = verb_ == Verb::encrypt ? Direction::encrypt : Direction::decrypt;
      constexpr std::string_view do_it_alone = "decrypt it alone, with -o FILE";
      Place output;
      std::optional<struct stat> existing;
      try {
        if (found_.outputs) {
          output = found_.outputs->place(default_name(direction, mirrored, do_it_alone));
          existing = found_.outputs->status_of(output);
        } else {
          output = beside(direction, input, do_it_alone);
          existing = status_of(folder, output);
        }
      } catch (const InvalidArgument& error) {
        refuse(input.shown, error.what(), 2);
        return;
      }
      if (existing) {
        files_.check_secret_target(*existing, output.shown, input.shown, found_as);
        file.target = FileId(*existing);
      }
      if (!targets_.insert(fs::path(output.shown).lexically_normal().string()).second) {
        refuse(input.shown,
               fmt::format("{}: it is the output of another input of this run", output.shown), 2);
        return;
      }
      if (existing && options_.output.update && is_up_to_date(status, *existing)) {
        found_.up_to_date.push_back({input.shown, output.shown, FileId(*existing)});
        return;
      }
      file.job.output = std::move(output);
    }
    file.job.input = std::move(input);
    found_.files.push_back(std::move(file));
  }

  [[nodiscard]] static std::optional<struct stat> status_of(const Folder& folder,
                                                            const Place& output) {
    struct stat status = {};
    const int flags = output.follow ? 0 : AT_SYMLINK_NOFOLLOW;
    const int found = fstatat(folder.descriptor(), output.name().c_str(), &status, flags);
    return found == 0 ? std::optional(status) : std::nullopt;
  }

  // Refuses outputs that would replace another input: that one would be lost, or change while read.
  void refuse_outputs_over_inputs() {
    if (!options_.output.force && !options_.output.update) return;
    const auto refuse_it = [&](const std::string& input, const std::string& output,
                               const std::optional<FileId>& target) {
      if (!target || !files_.is_input(*target)) return false;
      refuse(input,
             fmt::format("{}: its output would be {}, which is an input of this run and is not "
                         "overwritten; write elsewhere with -o",
                         input, output),
             2);
      return true;
    };
    std::erase_if(found_.files, [&](const FoundFile& file) {
      return file.target && refuse_it(file.job.input.shown, file.job.output->shown, file.target);
    });
    // Such an output is not that of the input, either.
    std::erase_if(found_.up_to_date, [&](const Found::UpToDate& file) {
      return refuse_it(file.input, file.output, file.target);
    });
  }

  void refuse(const std::string& input, std::string reason, int exit) {
    found_.refused.push_back({input, std::move(reason), exit});
  }

  const CryptOptions& options_;
  const Verb verb_;
  TreeRoots& roots_;
  ProtectedFiles& files_;
  const Exclusions exclusions_;
  Found found_;
  std::set<std::string> targets_;
};

}  // namespace

void SkippedEntries::add(const std::string& shown, Skip why) {
  ++counts_[static_cast<std::size_t>(why)];
  if (keep_) entries_.push_back({shown, why});
}

std::uint64_t SkippedEntries::total() const {
  return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
}

std::string SkippedEntries::text(Verb verb) const {
  std::string list;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] == 0) continue;
    const auto why = static_cast<Skip>(i);
    const SkipText text = text_of(why, verb);
    if (!list.empty()) list += ", ";
    if (why == Skip::output) {
      list += text.reason;  // there is one
    } else {
      list += fmt::format("{} {}", counts_[i], counts_[i] == 1 ? text.one : text.many);
    }
  }
  return list;
}

const char* reason_of(Skip why, Verb verb) { return text_of(why, verb).reason; }

std::uint64_t Found::bytes() const {
  std::uint64_t total = 0;
  for (const FoundFile& file : files) total += file.bytes;
  return total;
}

bool Found::any() const {
  if (!files.empty() || !up_to_date.empty() || !refused.empty()) return true;
  return folders != 0 && skipped.total() == 0;
}

Found find_inputs(const CryptOptions& options, Verb verb, TreeRoots& roots, ProtectedFiles& files) {
  if (std::find(options.inputs.begin(), options.inputs.end(), "-") != options.inputs.end()) {
    throw InvalidArgument("standard input (-) must be the only input, without -r");
  }
  const OutputOptions& output = options.output;
  if (output.standard_output || (output.path_given && output.path == "-")) {
    throw InvalidArgument("several outputs cannot go to standard output: name a folder with -o");
  }
  return Finder(options, verb, roots, files).run();
}

}  // namespace paraes::cli
