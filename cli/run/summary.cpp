#include "cli/run/summary.hpp"

#include <fmt/format.h>

#include <vector>

#include "cli/arguments/options.hpp"
#include "cli/plan/plan.hpp"
#include "cli/words/sizes.hpp"
#include "cli/words/spelling.hpp"

namespace paraes::cli {
namespace {

// At most three of the names.
std::string some_of(std::vector<std::string> names) {
  constexpr std::size_t most = 3;
  if (names.size() > most) {
    const std::size_t more = names.size() - most;
    names.resize(most);
    names.push_back(fmt::format("{} more", more));
  }
  return listed(names, "and");
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
                     : verb == Verb::rekey   ? "rekeyed"
                                             : "intact";
  const std::string fresh = count(summary.up_to_date, "file is up to date", "files are up to date");
  const bool nothing_done = summary.files == 0 && summary.failed == 0 && summary.salvaged == 0;
  std::string text;
  if (nothing_done && summary.up_to_date != 0) {
    text = "nothing new: " + fresh;
  } else if (nothing_done && found.waiting == 0) {
    text = "no files, only " + count(found.folders, "folder", "folders");
  } else {
    text = fmt::format("{} {}, {} in {:.2f} s", count(summary.files, "file", "files"), done,
                       format_amount(summary.bytes), summary.seconds);
    if (summary.up_to_date != 0) text += "; " + fresh;
  }
  if (summary.salvaged != 0) {
    text +=
        "; " + count(summary.salvaged, "file salvaged with losses", "files salvaged with losses");
  }
  if (summary.failed != 0) text += fmt::format("; {} failed", summary.failed);
  text += skipped_text(verb, found);
  if (!found.without_any.empty()) text += "; nothing found in " + some_of(found.without_any);
  return text;
}

std::string nothing_found_text(const Plan& plan, const Found& found) {
  std::string text = fmt::format("{}: nothing to {}", some_of(plan.inputs), verb_name(plan.verb));
  if (plan.recursive) {
    text += fmt::format("; looked for {}",
                        plan.verb == Verb::encrypt ? "files that are not *.paes" : "*.paes files");
  }
  return text + skipped_text(plan.verb, found);
}

}  // namespace paraes::cli
