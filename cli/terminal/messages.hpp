// Prints messages so that terminals show them as they are.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

namespace paraes::cli {

// `text` as terminals may show it: file names, and what drivers and files say, can hold anything.
// Control characters below U+0020 and bytes that are no UTF-8 become \xNN. Other controls, line
// separators and controls of bidirectional text become \uNNNN, as JSON allows.
[[nodiscard]] std::string printable(std::string_view text);

// Writes "paraes: <text>" and a newline to standard error. The text is made printable: one message
// is one line.
void say(std::string_view text);
template <class First, class... More>
void say(fmt::format_string<First, More...> text, First&& first, More&&... more) {
  say(fmt::format(text, std::forward<First>(first), std::forward<More>(more)...));
}

// Prints the text of an exception, except for a closed pipe, and returns its exit status.
int say_error(const std::exception& error);

// Writes the lines of `text`, made printable, and a newline, and flushes; throws IoError if that
// fails. JSON without control characters keeps its value.
void print_line(std::FILE* stream, std::string_view text);

}  // namespace paraes::cli
