// Names that a file system takes for one, though their bytes differ: by case (FAT, NTFS, most Macs,
// and servers with such disks), by Unicode normalisation, or by dots and spaces at the end.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cli/place.hpp"
#include "paraes/io.hpp"

namespace paraes::cli {

// What is left of a path without the differences that some file system may ignore. Paths with equal
// outlines need a probe; paths with different ones are different files.
[[nodiscard]] std::string outline_of(std::string_view path);
[[nodiscard]] std::uint64_t hash_of_outline(std::string_view path);

// Finds out by trying which paths below a folder lead to the same file. Removes what it makes.
class NameProbe {
 public:
  explicit NameProbe(std::shared_ptr<const Folder> folder);
  NameProbe(const NameProbe&) = delete;
  NameProbe& operator=(const NameProbe&) = delete;
  ~NameProbe();

  // Whether the file system takes any two names for one. False where that cannot be tried, because
  // nothing can be written there.
  [[nodiscard]] bool folds();

  // Whether the path below the folder leads to another file than all those before. Call it only if
  // folds() is true.
  [[nodiscard]] bool is_new(const std::string& path);

 private:
  class Scratch;

  std::shared_ptr<const Folder> folder_;
  std::string scratch_name_;
  std::optional<bool> folds_;
  std::unique_ptr<Scratch> scratch_;
};

// Whether two paths that differ may still lead to one file, where the file system of `output`, the
// place of the second, takes several names for one. Looks at their text first.
[[nodiscard]] bool may_be_one(const std::string& one, const std::string& other,
                              const Place& output);

}  // namespace paraes::cli
