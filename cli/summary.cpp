#include "cli/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "cli/sizes.hpp"

namespace paraes::cli {
namespace {

std::string list_of(const std::vector<std::string>& names) {
  constexpr std::size_t most = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, names.size()); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  return names.size() <= most ? text : fmt::format("{} and {} more", text, names.size() - most);
}

std::string count(std::uint64_t number, const char* one, const char* many) {
  return fmt::format("{} {}", number, number == 1 ? one : many);
}

std::string skipped_text(Verb verb, const Found& found) {
  const std::string list = found.skipped.text(verb);
  return list.empty() ? "" : "; skipped " + list;
}

}  // namespace

std::string summary_text(Verb verb, const RunSummary& summary, const Found& found) {
  const char* done = verb == Verb::encrypt   ? "encrypted"
                     : verb == Verb::decrypt ? "decrypted"
                                             : "intact";
  const std::string fresh = count(summary.up_to_date, "file is up to date", "files are up to date");
  const bool nothing_done = summary.files == 0 && summary.failed == 0;
  std::string text;
  if (nothing_done && summary.up_to_date != 0) {
    text = "nothing new: " + fresh;
  } else if (nothing_done && found.files.empty()) {
    text = "no files, only " + count(found.folders, "empty folder", "empty folders");
  } else {
    text = fmt::format("{} {}, {} in {:.2f} s", count(summary.files, "file", "files"), done,
                       format_amount(summary.bytes), summary.seconds);
    if (summary.up_to_date != 0) text += "; " + fresh;
  }
  if (summary.failed != 0) text += fmt::format("; {} failed", summary.failed);
  text += skipped_text(verb, found);
  if (!found.without_any.empty()) text += "; nothing found in " + list_of(found.without_any);
  return text;
}

std::string nothing_found_text(const CryptOptions& options, Verb verb, const Found& found) {
  std::string text = fmt::format("{}: nothing to {}", list_of(options.inputs), verb_name(verb));
  if (options.recursive) {
    text += fmt::format("; there are no {}",
                        verb == Verb::encrypt ? "files that are not *.paes" : "*.paes files");
  }
  return text + skipped_text(verb, found);
}

}  // namespace paraes::cli
