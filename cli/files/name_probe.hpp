// Names that a file system takes for one, though their bytes differ: by case (FAT, NTFS, most Macs,
// and servers with such disks), by Unicode normalisation, or by dots and spaces at the end.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cli/files/probe_file.hpp"

namespace paraes::cli {

// Returns the path without the differences that some file system may ignore. Paths with equal
// outlines need a probe; paths with different ones are different files.
[[nodiscard]] std::string outline_of(std::string_view path);
[[nodiscard]] std::uint64_t hash_of_outline(std::string_view path);

// Finds out by trying which paths lead to the same file. Makes files and folders in the folders of
// these paths, and removes them.
class NameProbe {
 public:
  explicit NameProbe(Probing probing) : probing_(probing) {}

  // Which of the paths, by number, their file systems take for one before them. The paths differ in
  // their bytes. A folder in which nothing can be made folds no names: no output gets there either.
  [[nodiscard]] std::vector<std::size_t> find_repeated(const std::vector<std::string>& paths);

  // Whether two paths name one file. Compares their text first.
  [[nodiscard]] bool are_one(const std::string& one, const std::string& other);

 private:
  // For paths as absolute() makes them.
  [[nodiscard]] std::vector<std::size_t> find_among(const std::vector<std::string>& paths);
  void try_below(const std::string& folder, const std::vector<std::string>& paths,
                 const std::vector<std::size_t>& numbers, std::vector<bool>& repeated);
  [[nodiscard]] const std::string& scratch_name_if_it_folds(const std::string& folder);

  Probing probing_;
  std::map<std::string, std::string> scratch_names_;  // by folder; empty: it folds no names
};

}  // namespace paraes::cli
