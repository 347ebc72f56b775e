// The folder that -o names for several inputs, and those below it that mirror folders of inputs.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/place.hpp"

namespace paraes::cli {

// Folders are made for their owner alone, before the first file, and get their mode when all files
// are there.
class OutputTree {
 public:
  // Looks where `path` is, or which part of it is there, and makes nothing. Throws InvalidArgument
  // for what is no folder, IoError for what cannot be reached.
  OutputTree(TreeRoots& roots, const std::string& path);

  // Whether it is the folder that -o names.
  [[nodiscard]] bool is_top(const struct stat& status) const {
    return below_.empty() && FileId(status) == root_->id();
  }

  // The place of the file `path` below the folder that -o names.
  [[nodiscard]] Place place(const std::string& path) const;

  // The status of an existing file at a place; nothing if there is none. Fast for files of one
  // folder after another.
  [[nodiscard]] std::optional<struct stat> look(const Place& place);

  // The folder `path` (empty: the one that -o names) mirrors one with this mode.
  void add_folder(const std::string& path, mode_t mode);
  // Whether it mirrors any folder.
  [[nodiscard]] bool mirrors() const noexcept { return !wanted_.empty(); }

  // Makes the folder that -o names, if it is missing, and those in front of it. Throws IoError.
  void make_top();
  // Makes the others. Returns the folders that could not be made, and why.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> make();

  // Gives the folders that were made their modes, the deepest first, limited by `most`. Returns
  // what went wrong.
  [[nodiscard]] std::vector<std::string> set_modes(mode_t most);

  // The folders that were made, and the one in which the first of them was made: to be synced.
  [[nodiscard]] std::vector<std::string> changed_folders() const;
  [[nodiscard]] const std::shared_ptr<const TreeRoot>& root() const noexcept { return root_; }

 private:
  void make_folder(const std::string& path);
  void set_mode(const std::string& path, mode_t most);

  std::shared_ptr<const TreeRoot> root_;  // the last folder of the path that is there
  std::string below_;                     // the rest of the path
  std::string shown_;                     // the path with a '/' behind it
  std::map<std::string, std::optional<mode_t>> wanted_;  // by path below the root
  std::vector<std::string> made_;
  // See look().
  std::optional<std::string> looked_at_;
  std::shared_ptr<const Folder> looked_;
};

}  // namespace paraes::cli
