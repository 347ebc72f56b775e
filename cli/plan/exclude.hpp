// --exclude: patterns of files and folders that a run skips.
#pragma once

#include <string>
#include <vector>

namespace paraes::cli {

// Patterns of fnmatch(3): * ? and [...], none of which matches a '/'. A pattern without '/' is
// compared with the last component of a path. One with '/' is compared with the path as shown, and
// with the path below the folder that was named; a leading '/' stands for that folder. A pattern
// that ends in '/' skips folders only. A skipped folder is not entered.
class Exclusions {
 public:
  Exclusions() = default;
  // Throws InvalidArgument for an empty pattern.
  explicit Exclusions(const std::vector<std::string>& patterns);

  [[nodiscard]] bool any() const noexcept { return !patterns_.empty(); }

  // `path`: below the argument, or the last component if the argument is a file. `shown`: the whole
  // path as shown.
  [[nodiscard]] bool match(const std::string& path, const std::string& shown, bool folder) const;

 private:
  struct Pattern {
    std::string below;  // compared with the path below the argument
    std::string shown;  // compared with the path as shown
    bool whole_path = false;
    bool folders_only = false;
  };
  std::vector<Pattern> patterns_;
};

}  // namespace paraes::cli
