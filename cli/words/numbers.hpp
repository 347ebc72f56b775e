// The numbers in flags. All are decimal: 017 is 17, and 0x11, 1e1, +5 and " 5" are errors.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "cli/arguments/cli11_fwd.hpp"

namespace paraes::cli {

// Throws InvalidArgument, which names the flag and the range, unless `text` is a whole number from
// `least` to `most`.
[[nodiscard]] std::uint64_t parse_number(std::string_view text, std::string_view flag,
                                         std::uint64_t least, std::uint64_t most);

struct Range {
  std::uint64_t least = 0;
  std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
};

// For add_number and the like: `names` as in CLI11, with the long name last.
CLI::Option* add_number_option(CLI::App& app, const char* names, Range range, const char* help,
                               std::function<void(std::uint64_t)> store);

template <class T>
struct NumberInside {
  using type = T;
};
template <class T>
struct NumberInside<std::optional<T>> {
  using type = T;
};

// Adds a flag that takes a whole number, which fits `value`, of this range.
template <class T>
CLI::Option* add_number(CLI::App& app, const char* names, T& value, Range range, const char* help) {
  return add_number_option(app, names, range, help, [&value](std::uint64_t number) {
    value = static_cast<typename NumberInside<T>::type>(number);
  });
}

// Adds a flag that takes one of these numbers.
CLI::Option* add_number_of(CLI::App& app, const char* names, unsigned& value,
                           std::vector<unsigned> choices, const char* help);

// Adds a flag that takes a number from `least` to `most`, which may have a decimal point.
CLI::Option* add_decimal(CLI::App& app, const char* names, double& value, double least, double most,
                         const char* help);

}  // namespace paraes::cli
