#include "cli/files/skipped.hpp"

#include <fmt/format.h>

#include <numeric>

namespace paraes::cli {
namespace {

// How the summary names entries that were skipped for one reason.
struct SkipText {
  const char* reason;  // of one entry
  const char* one;
  const char* many;
};

SkipText text_of(Skip why, Verb verb) {
  switch (why) {
    case Skip::name:
      if (verb == Verb::encrypt) return {"a *.paes file", "*.paes file", "*.paes files"};
      return {"not a *.paes file", "file that is not *.paes", "files that are not *.paes"};
    case Skip::link:
      return {"a symbolic link", "symbolic link", "symbolic links"};
    case Skip::output:
      return {"the output folder", "output folder", "output folders"};
    case Skip::special:
      return {"a special file", "special file", "special files"};
    case Skip::temporary:
      return {"a temporary file of another run", "temporary file of another run",
              "temporary files of other runs"};
    case Skip::excluded:
      break;
  }
  return {"--exclude matches it", "that --exclude matches", "that --exclude matches"};
}

}  // namespace

void SkippedEntries::add(const char* name, std::uint32_t folder, Skip why) {
  ++counts_[static_cast<std::size_t>(why)];
  if (keep_) entries_.push_back({name, folder, why});
}

std::uint64_t SkippedEntries::total() const {
  return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
}

std::string SkippedEntries::text(Verb verb) const {
  std::string list;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] == 0) continue;
    const auto why = static_cast<Skip>(i);
    const SkipText text = text_of(why, verb);
    if (!list.empty()) list += ", ";
    if (why == Skip::output) {
      list += text.reason;  // there is one
    } else {
      list += fmt::format("{} {}", counts_[i], counts_[i] == 1 ? text.one : text.many);
    }
  }
  return list;
}

const char* reason_of(Skip why, Verb verb) { return text_of(why, verb).reason; }

}  // namespace paraes::cli
