// The names that the outputs of a run will have, to find those that two inputs would share.
#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cli/arguments/options.hpp"
#include "cli/files/compact_set.hpp"
#include "cli/files/file_list.hpp"
#include "cli/files/name_probe.hpp"
#include "cli/files/output.hpp"

namespace paraes::cli {

// Knows files and folders by their numbers in a list. The folders of outputs have names as shown.
class OutputNames {
 public:
  // Keeps a reference to the list.
  OutputNames(const FileList& files, Verb verb)
      : names_(SameNames(files, folders_), SameNames(files, folders_)),
        outlines_(SameOutlines(files, folder_outlines_, verb),
                  SameOutlines(files, folder_outlines_, verb)) {}

  OutputNames(const OutputNames&) = delete;
  OutputNames& operator=(const OutputNames&) = delete;

  // The next folder of the list has its outputs in the folder `shown`.
  void add_folder(std::string shown);
  // Adds the output of a file. Returns false if another file has the same.
  [[nodiscard]] bool add(std::uint32_t number) { return names_.insert(number); }
  // Notes that a file system may take the name of this file's output for that of another one.
  void add_outline(std::uint32_t number);
  // The files of which that is so, by the first one of each group.
  [[nodiscard]] const std::map<std::uint32_t, std::vector<std::uint32_t>>& sharing() const {
    return sharing_;
  }

 private:
  // Equality and hashes of the outputs' names in a list of files, by number.
  class SameNames {
   public:
    SameNames(const FileList& files, const std::deque<std::uint32_t>& targets)
        : files_(files), targets_(targets) {}

    [[nodiscard]] std::uint64_t operator()(std::uint32_t number) const {
      const FoundFile& file = files_[number];
      return SpreadBits()(std::hash<std::string_view>()(file.name) + targets_[file.folder]);
    }
    [[nodiscard]] bool operator()(std::uint32_t a, std::uint32_t b) const {
      return targets_[files_[a].folder] == targets_[files_[b].folder] &&
             std::strcmp(files_[a].name, files_[b].name) == 0;
    }

   private:
    const FileList& files_;
    const std::deque<std::uint32_t>& targets_;
  };

  // The same for names that differ, but that some file system may take for one.
  class SameOutlines {
   public:
    SameOutlines(const FileList& files, const std::deque<std::uint32_t>& targets, Verb verb)
        : files_(files), targets_(targets), decrypts_(verb == Verb::decrypt) {}

    [[nodiscard]] std::uint64_t operator()(std::uint32_t number) const {
      const FoundFile& file = files_[number];
      return SpreadBits()(hash_of_outline(output_name_of(file)) + targets_[file.folder]);
    }
    [[nodiscard]] bool operator()(std::uint32_t a, std::uint32_t b) const {
      return targets_[files_[a].folder] == targets_[files_[b].folder] &&
             outline_of(output_name_of(files_[a])) == outline_of(output_name_of(files_[b]));
    }

   private:
    // Without the suffix: dots and spaces before it are then at the end.
    [[nodiscard]] std::string_view output_name_of(const FoundFile& file) const {
      std::string_view name = file.name;
      if (decrypts_ && has_suffix(name)) name.remove_suffix(suffix.size());
      return name;
    }

    const FileList& files_;
    const std::deque<std::uint32_t>& targets_;
    bool decrypts_;
  };

  // The folders of outputs by their names, and their numbers by those of the input folders.
  std::map<std::string, std::uint32_t> folder_numbers_;
  std::deque<std::uint32_t> folders_;
  CompactSet<std::uint32_t, ~std::uint32_t{0}, SameNames, SameNames> names_;
  // The same for outlines of names.
  std::map<std::string, std::uint32_t> outline_numbers_;
  std::deque<std::uint32_t> folder_outlines_;
  CompactSet<std::uint32_t, ~std::uint32_t{0}, SameOutlines, SameOutlines> outlines_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> sharing_;
};

}  // namespace paraes::cli
