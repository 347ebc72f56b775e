// Where a file of a run is: a folder that an argument named, and a path below it.
#pragma once

#include <sys/stat.h>

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "cli/streams/input.hpp"
#include "paraes/io.hpp"

namespace paraes::cli {

class TreeRoot;

// The folders that a run opened last: consecutive files are often in the same folder. Small,
// because descriptors are few. Thread-safe.
class FolderCache {
 public:
  [[nodiscard]] std::shared_ptr<const Folder> find(const TreeRoot& root, const std::string& path);
  void add(const TreeRoot& root, const std::string& path, std::shared_ptr<const Folder> folder);

 private:
  struct Entry {
    const TreeRoot* root = nullptr;
    std::string path;
    std::shared_ptr<const Folder> folder;
  };
  std::mutex mutex_;
  std::array<Entry, 4> entries_;
  std::size_t next_ = 0;  // the entry to replace next
};

// A folder that an argument names; symbolic links in its name are followed. Everything below it is
// reached from its descriptor: see Folder. A run with many arguments cannot hold a descriptor for
// each of them: it opens some folders again, and then checks that it got the same one.
class TreeRoot {
 public:
  // `keep`: hold the descriptor. The cache must outlive the object. Throws IoError.
  TreeRoot(const std::string& path, bool keep, FolderCache& cache);

  // The folder `path` below it, "" for itself. Throws IoError, also for a symbolic link in `path`,
  // and if another folder has taken the place of this one.
  [[nodiscard]] std::shared_ptr<const Folder> open(const std::string& path) const;
  // Like open, but without the cache: resolves `path` again.
  [[nodiscard]] Folder open_now(const std::string& path) const;

  [[nodiscard]] const FileId& id() const noexcept { return id_; }

  // The file `path` below it; see Folder::open_file.
  [[nodiscard]] Descriptor open_file(const std::string& path, int flags) const;

 private:
  auto open_below(const std::string& path, const auto& open) const;
  [[nodiscard]] Folder reopen() const;

  std::string name_;
  FolderCache& cache_;
  FileId id_;
  std::optional<Folder> folder_;
};

// The roots of a run, one object for each path. Thread-safe.
class TreeRoots {
 public:
  [[nodiscard]] std::shared_ptr<const TreeRoot> open(const std::string& path);

 private:
  FolderCache cache_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const TreeRoot>> roots_;
};

// The path of the folder that holds `path`, both below a root; empty for the root itself.
[[nodiscard]] std::string parent_of(const std::string& path);

struct Place {
  std::shared_ptr<const TreeRoot> root;  // null: standard input
  std::string path;                      // below the root; not empty
  std::string shown;                     // its name in messages
  // Whether to follow a symbolic link in the last component: true for arguments.
  bool follow = false;

  // Whether both are the same path below the same root.
  [[nodiscard]] bool operator==(const Place& other) const {
    return root == other.root && path == other.path;
  }

  // The path of the folder that holds it, and its name in that folder.
  [[nodiscard]] std::string folder() const { return parent_of(path); }
  [[nodiscard]] std::string name() const { return file_name_of(path); }
  [[nodiscard]] std::shared_ptr<const Folder> open_folder() const;
  [[nodiscard]] Folder open_folder_now() const { return root->open_now(folder()); }
};

// The status of `name` in a folder; nullopt if there is none, and errno says why.
[[nodiscard]] std::optional<struct stat> status_in(const Folder& folder, const std::string& name,
                                                   bool follow);

// Whether opening a FIFO waits for a writer.
enum class Waits { no, yes };

// Opens an input of a run, as cli/streams/input.hpp describes. Throws IoError also if a file that
// was found in a folder is no longer a regular file, or can only be reached through a symbolic
// link. `options`: what to ask for.
[[nodiscard]] Input open_input(const Place& place, InputOptions options, Waits waits);

// The place of the file that the argument `path` names. Throws IoError if its folder cannot be
// opened; the text contains "cannot" and `action`. Throws InvalidArgument for a folder.
[[nodiscard]] Place place_of_argument(TreeRoots& roots, const std::string& path,
                                      const char* action);

}  // namespace paraes::cli
