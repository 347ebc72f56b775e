// --exclude: what a run leaves out.
#pragma once

#include <string>
#include <vector>

namespace paraes::cli {

// Patterns of fnmatch(3): * ? and [...], none of which matches a '/'. A pattern without '/' is
// compared with the last name of a path. One with '/' is compared with the path below the folder
// that was named, where a '/' in front may stand for that folder, and with the path as it is shown.
// One that ends in '/' leaves out folders only. A folder that is left out is not entered.
class Exclusions {
 public:
  // Throws InvalidArgument for an empty pattern.
  explicit Exclusions(const std::vector<std::string>& patterns);

  // `path` is below the argument (for a file that was named, its name); `shown` is the whole.
  [[nodiscard]] bool match(const std::string& path, const std::string& shown, bool folder) const;

 private:
  struct Pattern {
    std::string below;  // for the path below the folder
    std::string shown;  // for the path as it is shown
    bool whole_path = false;
    bool folders_only = false;
  };
  std::vector<Pattern> patterns_;
};

}  // namespace paraes::cli
