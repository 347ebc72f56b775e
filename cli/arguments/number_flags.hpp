// Flags that take a value.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>

#include "cli/arguments/cli11_fwd.hpp"
#include "cli/words/numbers.hpp"

namespace paraes::cli {

// For all: `names` as in CLI11, with the long name last.

// Gets each text that a flag was given, and the flag's long name.
using TakeValue = std::function<void(const std::string& flag, const std::string& text)>;
CLI::Option* add_value(CLI::App& app, const std::string& names, const std::string& type,
                       const char* help, TakeValue take);

struct Range {
  std::uint64_t least = 0;
  std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
};

// Adds a flag that takes a whole number, which fits `value`, of this range.
template <class T>
CLI::Option* add_number(CLI::App& app, const char* names, T& value, Range range, const char* help) {
  return add_value(app, names, "N", help,
                   [&value, range](const std::string& flag, const std::string& text) {
                     value = static_cast<typename NumberInside<T>::type>(
                         parse_number(text, flag, range.least, range.most));
                   });
}

// Adds a flag that takes a number from `least` to `most`, which may have a decimal point.
inline CLI::Option* add_decimal(CLI::App& app, const char* names, double& value, double least,
                                double most, const char* help) {
  return add_value(app, names, "N", help,
                   [&value, least, most](const std::string& flag, const std::string& text) {
                     value = parse_decimal(text, flag, least, most);
                   });
}

}  // namespace paraes::cli
