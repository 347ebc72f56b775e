#include "packaging/manual/text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "bench/bench.hpp"
#include "paraes/kernels.hpp"

namespace paraes::manual {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \n") + 1 - begin);
}

// A line of a list: what stands before two or more spaces, and what follows them.
Definition definition_of(std::string_view line) {
  line = trimmed(line);
  const std::size_t gap = line.find("  ");
  if (gap == std::string_view::npos) return {std::string(line), ""};
  return {std::string(line.substr(0, gap)), std::string(trimmed(line.substr(gap)))};
}

std::vector<Definition> list_of(std::string_view paragraph) {
  std::vector<Definition> list;
  std::vector<std::string_view> lines = split(paragraph, "\n");
  lines.erase(lines.begin());  // the title
  list.reserve(lines.size());
  for (const std::string_view line : lines) list.push_back(definition_of(line));
  return list;
}

bool is_lower(char c) { return std::islower(static_cast<unsigned char>(c)) != 0; }
bool is_upper(char c) { return std::isupper(static_cast<unsigned char>(c)) != 0; }
bool is_letter(char c) { return is_lower(c) || is_upper(c); }

// Without punctuation around it, of which the lengths come back.
std::string_view core_of(std::string_view word, std::size_t& before, std::size_t& after) {
  before = std::min(word.find_first_not_of('('), word.size());
  word.remove_prefix(before);
  const std::size_t end = word.find_last_not_of("),:;.");
  after = end == std::string_view::npos ? word.size() : word.size() - end - 1;
  // An ellipsis and a file name such as `*.o` belong to the word.
  if (word.size() >= 3 && word.substr(word.size() - 3) == "...") after = 0;
  word.remove_suffix(after);
  return word;
}

bool is_code(std::string_view word) {
  if (word.size() > 1 && word[0] == '-') return word[1] == '-' || is_letter(word[1]);
  if (word == "-" || word.find('*') != std::string_view::npos) return true;
  if (word.find('/') != std::string_view::npos && !is_letter(word[0])) return true;
  return !word.empty() && (word[0] == '$' || word[0] == '\'' || word.back() == '/');
}

void add(std::vector<Span>& list, bool code, std::string_view text) {
  if (text.empty()) return;
  if (!list.empty() && list.back().code == code) {
    list.back().text += text;
    return;
  }
  // Code, a space, and code again.
  if (code && list.size() > 1 && list.back().text == " ") {
    list.pop_back();
    list.back().text.append(" ").append(text);
    return;
  }
  list.push_back({code, std::string(text)});
}

void add_words(std::vector<Span>& list, std::string_view text) {
  bool first = true;
  for (const std::string_view word : split(text, " ")) {
    if (!std::exchange(first, false)) add(list, false, " ");
    std::size_t before = 0;
    std::size_t after = 0;
    const std::string_view core = core_of(word, before, after);
    if (!is_code(core)) {
      add(list, false, word);
      continue;
    }
    add(list, false, word.substr(0, before));
    add(list, true, core);
    add(list, false, word.substr(before + core.size()));
  }
}

// Whether it stands for a value: FILE, N, S, "...".
bool is_placeholder(std::string_view word) {
  return word.empty() || word == "..." ||
         std::all_of(word.begin(), word.end(), [](char c) { return is_upper(c) || c == '/'; });
}

void add_kernels(std::vector<std::string>& words) {
  for (const auto& list : {kernels(), gpu_kernels()}) {
    for (const KernelInfo& kernel : list) {
      const std::string name(kernel.name);
      if (std::find(words.begin(), words.end(), name) == words.end()) words.push_back(name);
    }
  }
}

Values::Kind kind_of(std::string_view placeholder) {
  using Kind = Values::Kind;
  if (placeholder == "FILE" || placeholder == "FILE|FOLDER" || placeholder == "PATH") {
    return Kind::files;
  }
  if (placeholder.size() > 5 && placeholder.substr(placeholder.size() - 5) == ".json") {
    return Kind::files;
  }
  if (placeholder == "FOLDER" || placeholder == "DIR") return Kind::folders;
  if (placeholder == "CMD") return Kind::command;
  if (placeholder == "VAR") return Kind::variable;
  return Kind::text;
}

}  // namespace

std::vector<std::string_view> split(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + separator.size());
  }
}

std::string joined_lines(std::string_view text) {
  std::string joined;
  for (const std::string_view line : split(text, "\n")) {
    const std::string_view words = trimmed(line);
    if (words.empty()) continue;
    joined.append(joined.empty() ? "" : " ").append(words);
  }
  return joined;
}

Text parse_text(std::string_view footer) {
  Text text;
  for (const std::string_view part : split(footer, "\n\n")) {
    const std::string_view paragraph = trimmed(part);
    if (paragraph.empty()) continue;
    if (paragraph.rfind("Examples:", 0) == 0) {
      text.examples = list_of(paragraph);
    } else if (paragraph.rfind("Exit status:", 0) == 0) {
      text.exit_statuses = list_of(paragraph);
    } else {
      text.paragraphs.push_back(joined_lines(paragraph));
    }
  }
  return text;
}

std::string sentence(std::string_view note) {
  std::string text(note.substr(0, note.size() - (note.back() == ')' ? 1 : 0)));
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text + ".";
}

std::vector<std::string> sentences(std::string_view paragraph) {
  std::vector<std::string> list;
  std::size_t begin = 0;
  for (std::size_t i = 0; i + 2 < paragraph.size(); ++i) {
    if (paragraph[i] != '.' || paragraph[i + 1] != ' ') continue;
    if (i > 0 && paragraph[i - 1] == '.') continue;  // an ellipsis
    list.emplace_back(paragraph.substr(begin, i + 1 - begin));
    begin = i + 2;
  }
  list.emplace_back(paragraph.substr(begin));
  return list;
}

std::string short_text(std::string_view text) {
  std::string first = sentences(text).front();
  if (const std::size_t at = first.find(" ("); at != std::string::npos) first.resize(at);
  if (const std::size_t at = first.find("; "); at != std::string::npos) first.resize(at);
  const bool is_ellipsis = first.size() > 1 && first[first.size() - 2] == '.';
  if (!first.empty() && first.back() == '.' && !is_ellipsis) first.pop_back();
  return first;
}

std::vector<Span> spans(std::string_view text) {
  std::vector<Span> list;
  bool quoted = false;
  for (const std::string_view part : split(text, "`")) {
    if (quoted) {
      add(list, true, part);
    } else {
      add_words(list, part);
    }
    quoted = !quoted;
  }
  return list;
}

Values values_of(const Flag& flag) {
  using Kind = Values::Kind;
  if (flag.type.empty()) return {Kind::none, {}};
  if (kind_of(flag.type) != Kind::text) return {kind_of(flag.type), {}};
  const bool is_list = flag.type.find(',') != std::string::npos;
  Values values;
  for (std::string_view word : split(flag.type, is_list ? "," : "|")) {
    word = word.substr(0, word.find(':'));  // cuda:N
    if (!is_placeholder(word) && word.find('=') == std::string_view::npos) {
      values.words.emplace_back(word);
    }
  }
  const std::string& name = flag.names.back();
  if (name == "--kernel") add_kernels(values.words);
  if (name == "--rivals") values.words = bench::axis_words(name);
  if (!values.words.empty()) values.kind = is_list ? Kind::list : Kind::words;
  return values;
}

std::vector<std::string> names_of_verbs(const Executable& executable) {
  std::vector<std::string> names;
  for (const Verb& verb : executable.verbs) names.push_back(verb.name);
  return names;
}

Values values_of(const Executable& executable, const Verb& verb, const Argument& argument) {
  using Kind = Values::Kind;
  if (argument.name == "VERB") return {Kind::words, names_of_verbs(executable)};
  if (!argument.words.empty()) return {Kind::words, argument.words};
  // The verbs that read what encrypt writes.
  constexpr std::array<std::string_view, 4> readers = {"decrypt", "verify", "rekey", "info"};
  const bool reads_sealed = std::find(readers.begin(), readers.end(), verb.name) != readers.end();
  const Kind kind = kind_of(argument.name);
  return {kind == Kind::files && reads_sealed ? Kind::sealed_files : kind, {}};
}

std::string usage_of(const Executable& executable, const Verb& verb) {
  std::string usage = executable.name + " " + verb.name;
  if (!verb.groups.empty()) usage += " [OPTION...]";
  for (const Argument& argument : verb.arguments) usage += " " + argument.usage;
  return usage;
}

std::vector<Flag> flags_of(const std::vector<Group>& groups) {
  std::vector<Flag> flags;
  for (const Group& group : groups) {
    flags.insert(flags.end(), group.flags.begin(), group.flags.end());
  }
  return flags;
}

std::string backslashed(std::string_view text, std::string_view special) {
  std::string result;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

std::string joined(const std::vector<std::string>& words, std::string_view separator) {
  std::string text;
  for (const std::string& word : words) text.append(text.empty() ? "" : separator).append(word);
  return text;
}

}  // namespace paraes::manual
