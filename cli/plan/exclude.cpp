#include "cli/plan/exclude.hpp"

#include <fnmatch.h>

#include <utility>

#include "paraes/error.hpp"
#include "paraes/io.hpp"

namespace paraes::cli {

Exclusions::Exclusions(const std::vector<std::string>& patterns) {
  for (const std::string& text : patterns) {
    Pattern pattern;
    pattern.shown = text;
    while (!pattern.shown.empty() && pattern.shown.back() == '/') {
      pattern.folders_only = true;
      pattern.shown.pop_back();
    }
    pattern.whole_path = pattern.shown.find('/') != std::string::npos;
    pattern.below = pattern.shown;
    if (pattern.whole_path && pattern.below.front() == '/') pattern.below.erase(0, 1);
    if (pattern.below.empty()) throw InvalidArgument("--exclude has an empty pattern");
    patterns_.push_back(std::move(pattern));
  }
}

bool Exclusions::match(const std::string& path, const std::string& shown, bool folder) const {
  const auto matches = [](const std::string& pattern, const std::string& name) {
    return fnmatch(pattern.c_str(), name.c_str(), FNM_PATHNAME) == 0;
  };
  for (const Pattern& pattern : patterns_) {
    if (pattern.folders_only && !folder) continue;
    if (pattern.whole_path ? matches(pattern.below, path) || matches(pattern.shown, shown)
                           : matches(pattern.below, file_name_of(path))) {
      return true;
    }
  }
  return false;
}

}  // namespace paraes::cli
