#include "cli/plan/lists.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cli/streams/input.hpp"
#include "cli/words/errors.hpp"

namespace paraes::cli {

std::vector<std::string> read_list(const std::string& path, std::string_view flag, EntryEnd end) {
  if (path.empty()) throw refusal("{} has an empty name", flag);
  const std::string shown = fmt::format("{} {}", flag, input_name(path));
  std::string text;
  {
    const Input input = open_input(path, shown);
    constexpr std::size_t step = 64 << 10;
    for (std::size_t size = 0;; size = text.size()) {
      text.resize(size + step);
      const std::size_t n =
          input.source->read({reinterpret_cast<std::uint8_t*>(text.data()) + size, step});
      text.resize(size + n);
      if (n == 0) break;
    }
  }
  const bool by_lines = end == EntryEnd::newline;
  // No name of a file has a NUL byte.
  if (by_lines && text.find('\0') != std::string::npos) {
    throw refusal("{} {}: the list has NUL bytes, and a line is expected for each entry{}", flag,
                  path, flag == "--files-from" ? ": add -0" : "");
  }
  if (!by_lines && text.find('\n') != std::string::npos && text.find('\0') == std::string::npos) {
    throw refusal("{} {}: the list has lines, and no NUL bytes: leave -0 out", flag, path);
  }
  if (by_lines && text.starts_with("\xef\xbb\xbf")) {
    throw refusal(
        "{} {}: the list begins with a byte order mark, as some editors write it: remove that",
        flag, path);
  }
  if (by_lines && text.find("\r\n") != std::string::npos) {
    throw refusal(
        "{} {}: the list has lines that end with CR LF: remove the CRs, as with `tr -d '\\r'`{}",
        flag, path,
        flag == "--files-from" ? ", or end names that have one with NUL bytes (-0)" : "");
  }
  std::vector<std::string> entries;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t found = std::min(text.find(static_cast<char>(end), begin), text.size());
    if (found != begin) entries.push_back(text.substr(begin, found - begin));
    begin = found + 1;
  }
  return entries;
}

}  // namespace paraes::cli
