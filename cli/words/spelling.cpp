#include "cli/words/spelling.hpp"

#include <algorithm>
#include <cctype>

namespace paraes::cli {
namespace {

// More names than this help nobody.
constexpr std::size_t most_names = 4;
// Longer words are no names with typing errors.
constexpr std::size_t longest_word = 40;
// The shortest word that counts as the beginning of a name, and the shortest name that counts as
// the beginning of a word.
constexpr std::size_t shortest_prefix = 2;
constexpr std::size_t shortest_stem = 4;

std::string lower(std::string_view word) {
  std::string text(word);
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// The number of characters to insert, delete, replace or swap with their neighbour.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

bool begins(std::string_view text, std::string_view start, std::size_t shortest) {
  return start.size() >= shortest && text.substr(0, start.size()) == start;
}

}  // namespace

std::vector<std::string> similar_names(std::string_view word,
                                       const std::vector<std::string>& names) {
  const std::string own = lower(word);
  if (own.size() > longest_word) return {};
  std::vector<std::string> found;
  for (const std::string& name : names) {
    if (begins(name, own, shortest_prefix) || begins(own, name, shortest_stem)) {
      found.push_back(name);
    }
  }
  if (!found.empty() && found.size() <= most_names) return found;
  found.clear();
  std::size_t least = longest_word;
  for (const std::string& name : names) {
    const std::size_t errors = distance(own, name);
    // With more errors than a third of its letters, it is another word.
    if (3 * errors > std::max(own.size(), name.size()) || errors > least) continue;
    if (errors < least) found.clear();
    least = errors;
    found.push_back(name);
  }
  return found.size() <= most_names ? found : std::vector<std::string>();
}

std::string listed(const std::vector<std::string>& words, std::string_view last) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i != 0) text += i + 1 == words.size() ? " " + std::string(last) + " " : ", ";
    text += words[i];
  }
  return text;
}

std::string did_you_mean(const std::vector<std::string>& names) {
  if (names.empty()) return "";
  std::vector<std::string> quoted;
  quoted.reserve(names.size());
  for (const std::string& name : names) quoted.push_back("'" + name + "'");
  return "; did you mean " + listed(quoted, "or") + "?";
}

}  // namespace paraes::cli
