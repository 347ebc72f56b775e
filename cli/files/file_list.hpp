// The files that a run found, in little memory: there can be millions of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/files/place.hpp"

namespace paraes::cli {

enum class FileState : std::uint8_t {
  waiting,        // to be processed
  out_of_memory,  // the same, after a first attempt
  up_to_date,     // left out by --update
  refused,        // and reported
  repeated,       // another name of a file that rekey replaces
};

struct FoundFile {
  const char* name = nullptr;  // the last component of its path, in the list's memory
  std::uint64_t bytes = 0;
  std::uint32_t folder = 0;  // as numbered by the list
  bool regular = false;      // false: a pipe or device
  FileState state = FileState::waiting;
  bool may_replace_secret = false;  // its output replaces a regular file that could hold a secret
};

// One file of a run: where it is read, and where its output goes.
struct FileJob {
  Place input;
  std::optional<Place> output;       // nullopt: -o and -c decide, else beside the input
  bool sync_folder = true;           // see FileSink::Options
  int threads = 0;                   // see TransferOptions
  bool alone = false;                // without the distributor: one of several small files
  const FoundFile* found = nullptr;  // one of several files; not for the only one
};

// Strings that never move. Each is followed by a zero byte.
class NameStore {
 public:
  const char* add(std::string_view name);

 private:
  std::vector<std::unique_ptr<char[]>> blocks_;
  char* next_ = nullptr;  // free bytes of the last block
  std::size_t left_ = 0;
};

// A file takes 24 bytes and its name. All paths are put together when they are asked for.
class FileList {
 public:
  // Where a search began: a folder that was an argument, or that holds files that were.
  struct Top {
    std::shared_ptr<const TreeRoot> root;
    std::string shown;     // its name as a prefix of paths: empty, or ends in '/'
    std::string mirrored;  // the same below the folder of -o
    bool follow = false;   // see Place
  };

  // Both return the number of a folder: of the top itself, and of `path` below that of `above`.
  std::uint32_t add_top(Top top);
  std::uint32_t add_folder(std::uint32_t above, std::string path);

  // Copies a name, for FoundFile::name.
  const char* add_name(std::string_view name) { return names_.add(name); }
  // Throws std::bad_alloc if there are 2^32 - 1 files.
  std::uint32_t add(const FoundFile& file);
  void remove_last() { files_.pop_back(); }

  [[nodiscard]] std::size_t size() const noexcept { return files_.size(); }
  [[nodiscard]] auto begin() noexcept { return files_.begin(); }
  [[nodiscard]] auto end() noexcept { return files_.end(); }
  [[nodiscard]] auto begin() const noexcept { return files_.begin(); }
  [[nodiscard]] auto end() const noexcept { return files_.end(); }
  [[nodiscard]] FoundFile& operator[](std::size_t index) { return files_[index]; }
  [[nodiscard]] const FoundFile& operator[](std::size_t index) const { return files_[index]; }

  [[nodiscard]] const Top& top(std::uint32_t folder) const { return tops_[folders_[folder].top]; }
  // The path of a folder below its top, "" for that itself.
  [[nodiscard]] const std::string& path(std::uint32_t folder) const {
    return folders_[folder].path;
  }

  // The path of a file below its top, as shown, and below the folder of -o.
  [[nodiscard]] std::string path(const FoundFile& file) const;
  [[nodiscard]] std::string shown(const FoundFile& file) const;
  // The path below the folder that was searched; empty for an argument.
  [[nodiscard]] std::string found_as(const FoundFile& file) const {
    return top(file.folder).follow ? std::string() : path(file);
  }
  [[nodiscard]] std::string mirrored(const FoundFile& file) const;
  [[nodiscard]] Place place(const FoundFile& file) const;

 private:
  struct Folder {
    std::uint32_t top = 0;
    std::string path;
  };
  std::vector<Top> tops_;
  std::deque<Folder> folders_;
  std::deque<FoundFile> files_;  // a vector would copy all of them when it grows
  NameStore names_;
};

}  // namespace paraes::cli
