// The texts of errors, and exit statuses.
#pragma once

#include <fmt/format.h>

#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "paraes/error.hpp"

namespace paraes::cli {

inline constexpr int exit_done = 0;
inline constexpr int exit_failed = 1;       // I/O, device or internal
inline constexpr int exit_usage = 2;        // usage or refusal
inline constexpr int exit_some_failed = 3;  // of several files, or salvage lost something
inline constexpr int exit_not_intact = 4;   // the data is not intact
inline constexpr int exit_wrong_key = 5;    // the header does not match the key
inline constexpr int exit_closed_pipe = 141;

[[nodiscard]] int exit_status(const std::exception& error);

// The error of a wrong argument, with this text.
template <class... Values>
[[nodiscard]] InvalidArgument refusal(fmt::format_string<Values...> text, Values&&... values) {
  return InvalidArgument(fmt::format(text, std::forward<Values>(values)...));
}

// The text of an exception, with the flag or command that helps if there is one.
[[nodiscard]] std::string error_text(const std::exception& error);

// The name of an input, or of an output, in messages: "-" is a standard stream.
[[nodiscard]] std::string input_name(const std::string& input);
[[nodiscard]] std::string output_name(const std::string& output);

// `text`, an error of the run on the first of these files, with that file's name before it unless
// it begins with the name of one of them. So does every text of the library about a file. Empty
// names are left out.
[[nodiscard]] std::string with_name(std::string_view text, const std::vector<std::string>& files);

}  // namespace paraes::cli
