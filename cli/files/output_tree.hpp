// The folder that -o names for several inputs, and the folders below it that mirror input folders.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/files/place.hpp"
#include "paraes/attributes.hpp"

namespace paraes::cli {

// Makes folders with mode 0700 before the first file, and sets their modes, times and, as root,
// owners after the last one.
class OutputTree {
 public:
  // Finds the longest part of `path` that exists, and makes nothing. Throws InvalidArgument if that
  // is not a folder, and IoError if it cannot be reached.
  OutputTree(TreeRoots& roots, const std::string& path);

  // Whether `status` is that of the folder that -o names.
  [[nodiscard]] bool is_top(const struct stat& status) const {
    return below_.empty() && FileId(status) == root_->id();
  }

  // The place of the file `path` below the folder that -o names.
  [[nodiscard]] Place place(const std::string& path) const;

  // The folder that -o names, as shown; ends in '/'.
  [[nodiscard]] const std::string& shown() const noexcept { return shown_; }

  // The folder `path` below the folder that -o names; null if it does not exist or cannot be
  // opened.
  [[nodiscard]] std::shared_ptr<const Folder> existing(const std::string& path) const;

  // Records that the folder `path` (empty: the one that -o names) mirrors a folder with this status
  // and these attributes.
  void add_folder(const std::string& path, const struct stat& mirrored,
                  std::vector<FileAttribute> attributes);
  // Whether an output has the place of a folder that was recorded.
  [[nodiscard]] bool is_folder(const Place& output) const {
    return output.root == root_ && wanted_.contains(output.path);
  }
  // Whether any folder was recorded.
  [[nodiscard]] bool mirrors() const noexcept { return !wanted_.empty(); }

  // Makes the folder that -o names and its parents, where they are missing. Throws IoError.
  void make_top();
  // Makes the recorded folders. Returns those that could not be made, with the errors.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> make();

  // Removes the folders that were made and are empty: for a run that has no output.
  void remove_empty();

  struct Finished {
    std::vector<std::string> errors;
    // The attributes that a folder did not get, by its name.
    std::vector<std::pair<std::string, std::vector<std::string>>> lost;
  };
  // Sets the modes of the folders that were made, limited by `most`, their attributes, if
  // `attributes`, and the times of those that mirror one, but for the folder that -o names if it
  // existed; children first.
  [[nodiscard]] Finished finish(mode_t most, bool attributes);

  // The folders to sync: those that were made, and their parents.
  [[nodiscard]] std::vector<std::string> changed_folders() const;
  [[nodiscard]] const std::shared_ptr<const TreeRoot>& root() const noexcept { return root_; }

 private:
  // The metadata that a folder takes from those that it mirrors.
  struct Wanted {
    FileId mirrored;  // the last of them
    std::optional<mode_t> mode;
    timespec modified = {};  // if there is a mode
    std::optional<std::pair<uid_t, gid_t>> owner;
    std::vector<FileAttribute> attributes;
    bool clashes = false;  // it mirrors several, and one has attributes
  };

  void make_folder(const std::string& path);
  // Returns the names of attributes that the folder did not get.
  [[nodiscard]] std::vector<std::string> finish_new(const std::string& path, const Wanted& wanted,
                                                    mode_t most, bool attributes) const;

  std::shared_ptr<const TreeRoot> root_;  // the longest part of the path that existed
  std::string below_;                     // the rest of the path
  std::string shown_;                     // the path, ending in '/'
  std::map<std::string, Wanted> wanted_;  // by path below the root
  std::vector<std::string> made_;
};

}  // namespace paraes::cli
