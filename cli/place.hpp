// Where a file of a run is: below which folder that an argument named, and by which path.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "paraes/io.hpp"

namespace paraes::cli {

// A folder that an argument names; symbolic links in its name are followed. What is below it is
// reached from its descriptor: see Folder. That it is the same folder is certain also where it has
// to be opened again, because a run with many arguments cannot hold a descriptor for each.
class Root {
 public:
  // `keep`: hold the descriptor. Throws IoError.
  Root(const std::string& path, bool keep);

  // The folder `path` below it, "" for itself. Throws IoError, also for a symbolic link in `path`
  // and where another folder has taken the place of this one.
  [[nodiscard]] Folder open(const std::string& path) const;

  // The file `path` below it; see Folder::open_file.
  [[nodiscard]] Descriptor open_file(const std::string& path, int flags) const;

 private:
  template <class Open>
  auto open_below(const std::string& path, const Open& open) const;
  [[nodiscard]] Folder reopen() const;

  std::string name_;
  FileId id_;
  std::optional<Folder> folder_;
};

// The roots of a run, each opened once. For any number of threads.
class Roots {
 public:
  [[nodiscard]] std::shared_ptr<const Root> open(const std::string& path);

 private:
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const Root>> roots_;
};

struct Place {
  std::shared_ptr<const Root> root;  // none: standard input
  std::string path;                  // below the root; not empty
  std::string shown;                 // what the user calls it
  // Whether the last name may be a symbolic link, which is then followed: it was an argument.
  bool follow = false;

  // The folder that holds it, and its name there.
  [[nodiscard]] std::string folder() const;
  [[nodiscard]] std::string name() const { return file_name_of(path); }
  [[nodiscard]] Folder open_folder() const;
};

// The place of the file that the argument `path` names. Throws IoError if its folder cannot be
// opened. `verb`: what was to be done with it, for that error.
[[nodiscard]] Place place_of_argument(Roots& roots, const std::string& path, const char* verb);

}  // namespace paraes::cli
