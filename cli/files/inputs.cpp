#include "cli/files/inputs.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <tuple>

#include "cli/files/output.hpp"
#include "cli/files/output_names.hpp"
#include "cli/plan/plan.hpp"
#include "cli/words/errors.hpp"
#include "paraes/error.hpp"
#include "src/core/system/folder.hpp"

namespace paraes::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view do_it_alone = "decrypt it alone, with -o FILE";

Direction direction_of(Verb verb) {
  return verb == Verb::encrypt ? Direction::encrypt : Direction::decrypt;
}

// The names in a folder, sorted. The list keeps them: most are those of its files.
std::deque<const char*> names_in(const Folder& folder, FileList& files) {
  std::deque<const char*> names;
  const auto add = [&](const char* name) { names.push_back(files.add_name(name)); };
  if (!system::visit_names(folder.descriptor(), ".", add)) {
    throw io_error(folder.name(), "read", errno);
  }
  std::ranges::sort(names, [](const char* a, const char* b) { return std::strcmp(a, b) < 0; });
  return names;
}

// A folder's name as a prefix of paths, without what does not change where it leads: "/a/./b/" is
// "a/b/". Empty, or ends in '/'.
std::string plain_prefix(const std::string& prefix) {
  std::string plain;
  for (const fs::path& part : fs::path(prefix)) {
    if (part != "/" && part != "." && !part.empty()) plain += part.string() + "/";
  }
  return plain;
}

bool leads_up(const std::string& path) {
  const fs::path parts(path);
  return std::ranges::find(parts, "..") != parts.end();
}

class Finder {
 public:
  explicit Finder(FileContext& run)
      : run_(run),
        plan_(run.plan),
        verb_(plan_.verb),
        found_(verb_, plan_.reporting.verbose || plan_.reporting.json),
        list_(found_.files),
        names_(list_, verb_),
        probe_(run.probing) {
    if (plan_.output.path && verb_ != Verb::verify) {
      found_.outputs.emplace(run_.roots, *plan_.output.path);
    }
  }

  FoundFiles run() {
    for (std::size_t i = 0; i < plan_.inputs.size(); ++i) {
      add_argument(plan_.inputs[i], i >= plan_.first_listed && found_.outputs);
    }
    refuse_outputs_over_inputs(found_, replaced_, run_.files, probe_);
    refuse_shared_names(found_, names_, probe_);
    for (const FoundFile& file : list_) {
      if (file.state == FileState::up_to_date) ++found_.up_to_date;
      if (file.state != FileState::waiting) continue;
      ++found_.waiting;
      found_.bytes += file.bytes;
    }
    return std::move(found_);
  }

 private:
  // A folder that is being searched, or whose files are arguments.
  struct Searched {
    std::uint32_t number = 0;              // in the list
    std::shared_ptr<const Folder> output;  // where its outputs go; null if that does not exist
  };
  // A folder that has not been searched yet.
  struct Pending {
    std::uint32_t above = 0;  // the number of the folder above
    std::string path;         // below the top; empty for that itself
  };

  // `mirrors`: its output keeps its path below the folder of -o, as those of a list do.
  void add_argument(const std::string& input, bool mirrors) {
    struct stat status = {};
    if (stat(input.c_str(), &status) != 0) {
      const int code = errno;
      const bool recipient = plan_.recursive && input.rfind("age1", 0) == 0;
      found_.refuse(
          input,
          error_text(io_error(input_name(input), "open", code)) +
              (recipient ? " (-r is short for --recursive; a recipient goes with --recipient)"
                         : ""),
          1);
      return;
    }
    if (mirrors && leads_up(input)) {
      run_.files.check_input(status, input);
      found_.refuse(
          input, input + ": its output would be outside of the folder of -o: list it without ..");
      return;
    }
    const bool folder = S_ISDIR(status.st_mode);
    // "photos/" and "photos" mirror the folder; "photos/." and ".." mirror only its contents.
    fs::path path(input);
    if (folder && !path.has_filename()) path = path.parent_path();
    const std::string name = path.filename().string();
    if (plan_.exclusions.match(name, input, folder)) {
      const std::size_t end = input.rfind('/') + 1;
      found_.skipped.add(list_.add_name(input.substr(end)), top_of(nullptr, input.substr(0, end)),
                         Skip::excluded);
      return;
    }
    try {
      if (!folder) {
        add_file_argument(input, status, mirrors);
      } else if (plan_.recursive) {
        add_folder_argument(input, path, mirrors);
      } else {
        found_.refuse(input, input + ": it is a folder; use -r to process the files in it");
      }
    } catch (const IoError& error) {
      found_.refuse(input, error.what(), 1);
    }
  }

  void add_file_argument(const std::string& input, const struct stat& status, bool mirrors) {
    const Place place = place_of_argument(run_.roots, input, "open");
    const auto folder = place.open_folder();
    const std::string prefix = input.substr(0, input.rfind('/') + 1);
    const std::uint32_t number = top_of(place.root, prefix, mirrors);
    add_file(list_.add_name(place.path), status,
             {number, found_.outputs ? found_.outputs->existing(mirrored_path(number)) : folder});
  }

  // The folder of arguments that begin with `prefix`. `root`: null for one that was skipped.
  std::uint32_t top_of(const std::shared_ptr<const TreeRoot>& root, const std::string& prefix,
                       bool mirrors = false) {
    const std::tuple<const TreeRoot*, std::string, bool> key{root.get(), prefix, mirrors};
    if (const auto known = tops_.find(key); known != tops_.end()) return known->second;
    const std::string mirrored = mirrors ? mirror_above(prefix) : "";
    const std::uint32_t top =
        list_.add_top({.root = root, .shown = prefix, .mirrored = mirrored, .follow = true});
    note_target(top);
    tops_.emplace(key, top);
    return top;
  }

  // Records that the folders in `prefix` are mirrored. Returns the prefix below the folder of -o.
  std::string mirror_above(const std::string& prefix) {
    for (std::size_t end = prefix.find('/'); end != std::string::npos;
         end = prefix.find('/', end + 1)) {
      const std::string folder = prefix.substr(0, end + 1);
      std::string plain = plain_prefix(folder);
      if (plain.empty()) continue;
      plain.pop_back();
      struct stat status = {};
      if (stat(folder.c_str(), &status) != 0) throw io_error(folder, "open", errno);
      // It may be one that can be searched, and not read.
      found_.outputs->add_folder(
          plain, status,
          attributes_of(
              [&] { return Descriptor(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)); },
              folder));
    }
    return plain_prefix(prefix);
  }

  void add_folder_argument(const std::string& input, const fs::path& path, bool mirrors) {
    const std::string name = path.filename().string();
    const bool unnamed = name == "." || name == ".." || name.empty();
    const std::string parent = path.parent_path().string();
    const std::string above = mirrors && !parent.empty() ? mirror_above(parent + "/") : "";
    const std::size_t before = inputs_so_far();
    const std::uint64_t folders = found_.folders;
    const std::uint64_t skipped = found_.skipped.total();
    add_tree(list_.add_top({.root = run_.roots.open(input),
                            .shown = input.back() == '/' ? input : input + "/",
                            .mirrored = above + (unnamed ? "" : name + "/")}));
    const bool only_folders = found_.folders != folders && found_.skipped.total() == skipped;
    if (inputs_so_far() == before && !only_folders) found_.without_any.push_back(input);
  }

  // Iterative: folders can be nested deeper than the stack allows calls.
  void add_tree(std::uint32_t top) {
    note_target(top);
    std::vector<Pending> stack;
    stack.push_back({top, ""});
    while (!stack.empty()) {
      const Pending pending = std::move(stack.back());
      stack.pop_back();
      std::uint32_t number = top;
      if (!pending.path.empty()) {
        number = list_.add_folder(pending.above, pending.path);
        note_target(number);
      }
      try {
        search(number, stack);
      } catch (const IoError& error) {
        const std::string shown = list_.top(number).shown + pending.path;
        found_.refuse(shown.substr(0, shown.size() - (pending.path.empty() ? 1 : 0)), error.what(),
                      1);
      }
    }
  }

  void search(std::uint32_t number, std::vector<Pending>& stack) {
    const std::string path = list_.path(number);
    const auto opened = list_.top(number).root->open(path);
    Searched searched{number, opened};
    if (found_.outputs) {
      const std::string mirrored = mirrored_path(number);
      struct stat status = {};
      if (fstat(opened->descriptor(), &status) != 0) throw io_error(opened->name(), "open", errno);
      const auto open = [&] {
        return list_.top(number).root->open_file(path, O_RDONLY | O_DIRECTORY);
      };
      found_.outputs->add_folder(mirrored, status, attributes_of(open, opened->name()));
      searched.output = found_.outputs->existing(mirrored);
    }
    const std::size_t first = stack.size();
    for (const char* name : names_in(*opened, list_)) {
      struct stat status = {};
      if (fstatat(opened->descriptor(), name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        const int code = errno;
        if (code == ENOENT && is_temporary_name(name)) continue;  // another run has ended
        const std::string shown = list_.shown({.name = name, .folder = number});
        found_.refuse(shown, io_error(shown, "open", code).what(), 1);
      } else if (const auto why = why_skipped(name, number, status)) {
        found_.skipped.add(name, number, *why);
      } else if (S_ISDIR(status.st_mode)) {
        ++found_.folders;
        stack.push_back({number, path.empty() ? name : path + "/" + name});
      } else {
        add_file(name, status, searched);
      }
    }
    std::reverse(stack.begin() + static_cast<std::ptrdiff_t>(first), stack.end());
  }

  // Why an entry of a folder is not an input; nullopt if it is one.
  [[nodiscard]] std::optional<Skip> why_skipped(const char* name, std::uint32_t number,
                                                const struct stat& status) const {
    const bool folder = S_ISDIR(status.st_mode);
    if (plan_.exclusions.any()) {
      const FoundFile entry = {.name = name, .folder = number};
      if (plan_.exclusions.match(list_.path(entry), list_.shown(entry), folder))
        return Skip::excluded;
    }
    if (S_ISLNK(status.st_mode)) return Skip::link;
    if (folder && plan_.one_file_system && status.st_dev != list_.top(number).root->id().device) {
      return Skip::mounted;
    }
    // The outputs of an earlier run are not inputs.
    if (folder && found_.outputs && found_.outputs->is_top(status)) return Skip::output;
    if (is_temporary_name(name)) return Skip::temporary;
    if (folder) return std::nullopt;
    if (!S_ISREG(status.st_mode)) return Skip::special;
    if (has_suffix(name) == (verb_ == Verb::encrypt)) return Skip::name;
    return std::nullopt;
  }

  [[nodiscard]] std::size_t inputs_so_far() const { return list_.size() + found_.refused.size(); }

  // The path of a folder below that of -o.
  [[nodiscard]] std::string mirrored_path(std::uint32_t number) const {
    std::string path = list_.top(number).mirrored + list_.path(number);
    if (!path.empty() && path.back() == '/') path.pop_back();
    return path;
  }

  // Returns the attributes of a folder, which open() opens to be read, if the run needs them; none
  // if it cannot be read.
  [[nodiscard]] std::vector<FileAttribute> attributes_of(const auto& open,
                                                         const std::string& shown) const {
    if (!plan_.looks_at_attributes()) return {};
    const Descriptor folder = open();
    if (folder.get() < 0) return {};
    return file_attributes(folder.get(), shown);
  }

  // Gives the next folder of the list, `number`, the folder of its outputs.
  void note_target(std::uint32_t number) {
    if (verb_ == Verb::verify) return;
    names_.add_folder(found_.outputs ? found_.outputs->shown() + mirrored_path(number)
                                     : list_.top(number).shown + list_.path(number));
  }

  // Notes a file whose output may share a name with that of another one. A folder that was searched
  // holds both names of its files already, so that outputs beside them are apart, too.
  void note_outline(std::uint32_t number) {
    if (found_.outputs || list_.top(list_[number].folder).follow) names_.add_outline(number);
  }

  // `name`: in the memory of the list.
  void add_file(const char* name, const struct stat& status, const Searched& in) {
    const FoundFile file = {.name = name,
                            .bytes = static_cast<std::uint64_t>(status.st_size),
                            .folder = in.number,
                            .regular = S_ISREG(status.st_mode)};
    const bool argument = list_.top(in.number).follow;
    const auto found_as = [&] { return list_.found_as(file); };
    if (run_.files.is_named(status)) {
      run_.files.check_input(status, list_.shown(file), found_as());
    }
    const bool again = verb_ == Verb::rekey && run_.files.is_input(FileId(status));
    run_.files.add_input(FileId(status));
    if (!has_outputs(verb_)) {
      const std::uint32_t number = list_.add(file);
      if (!again) {
        if (verb_ == Verb::rekey) note_outline(number);
        return;
      }
      list_[number].state = FileState::repeated;
      found_.repeated.emplace_back(number, FileId(status));
      return;
    }
    if (verb_ == Verb::decrypt && !has_suffix(name)) {
      found_.refuse(list_.shown(file), why_nameless(do_it_alone));
      return;
    }
    std::optional<struct stat> existing;
    if (in.output) {
      existing = status_in(*in.output, default_name(direction_of(verb_), name, do_it_alone),
                           argument && !found_.outputs);
    }
    if (existing && run_.files.is_named(*existing)) {
      run_.files.check_named_target(*existing, found_.output(file)->shown, list_.shown(file),
                                    found_as());
    }
    const std::uint32_t number = list_.add(file);
    if (!names_.add(number)) {
      list_.remove_last();
      found_.refuse(list_.shown(file),
                    fmt::format("{}: it is the output of another input of this run",
                                found_.output(file)->shown));
      return;
    }
    note_outline(number);
    if (!existing) return;
    if (plan_.replaces_files()) {
      replaced_.push_back({number, FileId(*existing)});
      list_[number].may_replace_secret =
          S_ISREG(existing->st_mode) &&
          existing->st_size <= static_cast<off_t>(KnownSecrets::most_file_bytes);
    }
    const auto encrypted = [&] {
      return verb_ == Verb::encrypt ? *found_.output(file) : list_.place(file);
    };
    if (plan_.output.replaces_older &&
        run_.update.leaves_out(status, *existing, in.output, encrypted)) {
      list_[number].state = FileState::up_to_date;
    }
  }

  FileContext& run_;
  const Plan& plan_;
  const Verb verb_;
  FoundFiles found_;
  FileList& list_;  // of found_
  std::map<std::tuple<const TreeRoot*, std::string, bool>, std::uint32_t> tops_;
  OutputNames names_;
  NameProbe probe_;
  ReplacedFiles replaced_;
};

}  // namespace

FileJob FoundFiles::job(const FoundFile& file) const {
  FileJob job;
  job.input = files.place(file);
  job.output = output(file);
  job.sync_folder = false;
  job.found = &file;
  return job;
}

std::optional<Place> FoundFiles::output(const FoundFile& file) const {
  if (!has_outputs(verb)) return std::nullopt;
  const Direction direction = direction_of(verb);
  if (!outputs) return beside(direction, files.place(file), do_it_alone);
  return outputs->place(default_name(direction, files.mirrored(file), do_it_alone));
}

void FoundFiles::refuse(FoundFile& file, std::string reason) {
  file.state = FileState::refused;
  refuse(files.shown(file), std::move(reason));
}

bool FoundFiles::any() const {
  if (waiting != 0 || up_to_date != 0 || !refused.empty()) return true;
  return folders != 0 && skipped.total() == 0;
}

FoundFiles find_inputs(FileContext& run) {
  const Plan& plan = run.plan;
  if (std::ranges::find(plan.inputs, "-") != plan.inputs.end()) {
    throw InvalidArgument("standard input (-) must be the only input, without -r");
  }
  if (plan.output.standard_output || plan.output.path == "-") {
    throw InvalidArgument("several outputs cannot go to standard output: name a folder with -o");
  }
  return Finder(run).run();
}

}  // namespace paraes::cli
