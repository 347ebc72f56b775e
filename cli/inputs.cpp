#include "inputs.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "paraes/error.hpp"

namespace paraes::cli {
namespace {

namespace fs = std::filesystem;

bool has_suffix(const std::string& name) {
  return name.size() > suffix.size() &&
         name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0;
}

class Finder {
 public:
  Finder(const CryptOptions& options, Verb verb) : options_(options), verb_(verb) {}

  Found run() {
    for (const std::string& input : options_.inputs) argument(input);
    return std::move(found_);
  }

 private:
  void argument(const std::string& input) {
    struct stat status = {};
    if (stat(input.c_str(), &status) != 0) {
      refuse(input,
             fmt::format("cannot open {}: {}", input, std::generic_category().message(errno)), 1);
      return;
    }
    if (!S_ISDIR(status.st_mode)) {
      add(input, fs::path(input).filename().string(), status);
    } else if (options_.recursive) {
      // "photos/" and "photos" are the same; "photos/." and ".." mean what is in them.
      fs::path path(input);
      if (!path.has_filename()) path = path.parent_path();
      const std::string name = path.filename().string();
      folder(input, name == "." || name == ".." || name.empty() ? "" : name + "/");
    } else {
      refuse(input, input + " is a folder; -r takes folders, with the files in them", 2);
    }
  }

  // `mirrored`: what -o FOLDER has in front of the names in this folder.
  void folder(const std::string& path, const std::string& mirrored) {
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator entries(path, error), end; !error && entries != end;
         entries.increment(error)) {
      names.push_back(entries->path().filename().string());
    }
    if (error) {
      refuse(path, fmt::format("cannot read the folder {}: {}", path, error.message()), 1);
      return;
    }
    std::sort(names.begin(), names.end());
    const std::string prefix = path.back() == '/' ? path : path + "/";
    for (const std::string& name : names) {
      struct stat status = {};
      const std::string entry = prefix + name;
      if (lstat(entry.c_str(), &status) != 0) {
        refuse(entry,
               fmt::format("cannot open {}: {}", entry, std::generic_category().message(errno)), 1);
      } else if (S_ISLNK(status.st_mode)) {
        ++found_.skipped_links;
      } else if (S_ISDIR(status.st_mode)) {
        folder(entry, mirrored + name + "/");
      } else if (!S_ISREG(status.st_mode)) {
        ++found_.skipped_special;
      } else if (has_suffix(name) == (verb_ == Verb::encrypt)) {
        ++found_.skipped_names;
      } else {
        add(entry, mirrored + name, status);
      }
    }
  }

  void add(const std::string& input, const std::string& mirrored, const struct stat& status) {
    FoundFile file;
    file.job.input = input;
    file.job.output = options_.output;
    file.job.sync_folder = false;
    file.job.threads = options_.threads;
    file.bytes = static_cast<std::uint64_t>(status.st_size);
    file.regular = S_ISREG(status.st_mode);
    if (verb_ != Verb::verify) {
      const Direction direction = verb_ == Verb::encrypt ? Direction::encrypt : Direction::decrypt;
      try {
        file.job.output.path =
            options_.output.path_given
                ? (fs::path(options_.output.path) / default_name(direction, mirrored)).string()
                : default_name(direction, input);
      } catch (const InvalidArgument& error) {
        refuse(input, error.what(), 2);
        return;
      }
      file.job.output.path_given = true;
      const std::string target = fs::path(file.job.output.path).lexically_normal().string();
      if (!targets_.insert(target).second) {
        refuse(input,
               fmt::format("{} is the output of another input of this run", file.job.output.path),
               2);
        return;
      }
    }
    found_.files.push_back(std::move(file));
  }

  void refuse(const std::string& input, std::string reason, int exit) {
    found_.refused.push_back({input, std::move(reason), exit});
  }

  const CryptOptions& options_;
  const Verb verb_;
  Found found_;
  std::set<std::string> targets_;
};

}  // namespace

Found find_inputs(const CryptOptions& options, Verb verb) {
  if (std::find(options.inputs.begin(), options.inputs.end(), "-") != options.inputs.end()) {
    throw InvalidArgument("standard input (-) must be the only input, without -r");
  }
  const OutputOptions& output = options.output;
  if (output.standard_output || (output.path_given && output.path == "-")) {
    throw InvalidArgument(
        "several outputs cannot go to standard output: -o names a folder for them");
  }
  if (output.path_given) {
    struct stat status = {};
    if (output.path.empty()) throw InvalidArgument("-o has an empty name");
    if (stat(output.path.c_str(), &status) == 0 && !S_ISDIR(status.st_mode)) {
      throw InvalidArgument(fmt::format(
          "{} is no folder: with several inputs or -r, -o names a folder", output.path));
    }
  }
  return Finder(options, verb).run();
}

}  // namespace paraes::cli
