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

// The order is that of Skip.
constexpr std::array<SkipText, 7> skip_texts = {{
    {"not a *.paes file", "file that is not *.paes", "files that are not *.paes"},
    {"a symbolic link", "symbolic link", "symbolic links"},
    {"the output folder", "output folder", "output folders"},
    {"a special file", "special file", "special files"},
    {"a temporary file of another run", "temporary file of another run",
     "temporary files of other runs"},
    {"--exclude matches it", "that --exclude matches", "that --exclude matches"},
    {"another file system is mounted on it", "folder with another file system",
     "folders with another file system"},
}};

SkipText text_of(Skip why, Verb verb) {
  if (why == Skip::name && verb == Verb::encrypt) {
    return {"a *.paes file", "*.paes file", "*.paes files"};
  }
  return skip_texts.at(static_cast<std::size_t>(why));
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
