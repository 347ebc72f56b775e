// Takes the texts of --help apart.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "packaging/manual/description.hpp"

namespace paraes::manual {

// Reads a footer: paragraphs, and lists under "Examples:" and "Exit status:".
[[nodiscard]] Text parse_text(std::string_view footer);

[[nodiscard]] std::vector<std::string_view> split(std::string_view text,
                                                  std::string_view separator);

// With spaces in place of line breaks.
[[nodiscard]] std::string joined_lines(std::string_view text);

// A note, without the parenthesis that ends it, as a sentence: "lists)" becomes "Lists.".
[[nodiscard]] std::string sentence(std::string_view note);

[[nodiscard]] std::vector<std::string> sentences(std::string_view paragraph);

// The first sentence without what follows a semicolon, parentheses and its full stop: beside a word
// to complete there is little space.
[[nodiscard]] std::string short_text(std::string_view text);

// Text with the same look: `code` is what a user types.
struct Span {
  bool code = false;
  std::string text;
};
// Text in backquotes is code, and so are flags, globs and variables.
[[nodiscard]] std::vector<Span> spans(std::string_view text);

// The words or files that complete the value of a flag, or an argument.
struct Values {
  enum class Kind { none, text, words, list, files, sealed_files, folders, command, variable };
  Kind kind = Kind::text;          // none: takes no value; list: words with commas between them
  std::vector<std::string> words;  // of words and list
};
[[nodiscard]] Values values_of(const Flag& flag);
[[nodiscard]] Values values_of(const Executable& executable, const Verb& verb,
                               const Argument& argument);

[[nodiscard]] std::vector<std::string> names_of_verbs(const Executable& executable);

// The arguments and flags of a verb in one line: "paraes info [OPTION...] [FILE]".
[[nodiscard]] std::string usage_of(const Executable& executable, const Verb& verb);

// All flags of the groups, in their order.
[[nodiscard]] std::vector<Flag> flags_of(const std::vector<Group>& groups);

// With a backslash before each of the characters `special`.
[[nodiscard]] std::string backslashed(std::string_view text, std::string_view special);

[[nodiscard]] std::string joined(const std::vector<std::string>& words,
                                 std::string_view separator = " ");

}  // namespace paraes::manual
