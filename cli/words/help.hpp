// The texts of --help.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace CLI {
class FormatterBase;
class Option;
}  // namespace CLI

namespace paraes::cli {

inline constexpr std::size_t help_width = 80;  // columns

// Breaks a paragraph at its spaces, so that no line is wider than help_width unless a single word
// is. The first line continues one of `used` columns, the others begin with `indent` spaces.
[[nodiscard]] std::string wrap(std::string_view paragraph, std::size_t indent, std::size_t used);

// Wraps the paragraphs of a text, which empty lines separate. Lines that begin with a space, such
// as examples, stay as they are.
[[nodiscard]] std::string wrap_paragraphs(std::string_view text);

// A positional argument in the line "Usage": its option_text, or its name in brackets.
[[nodiscard]] std::string usage_of_argument(const CLI::Option& option);

[[nodiscard]] std::shared_ptr<CLI::FormatterBase> make_help_formatter();

}  // namespace paraes::cli
