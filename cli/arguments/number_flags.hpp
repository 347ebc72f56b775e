// Flags that take numbers.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "cli/arguments/cli11_fwd.hpp"
#include "cli/words/numbers.hpp"

namespace paraes::cli {

struct Range {
  std::uint64_t least = 0;
  std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
};

// For add_number and the like: `names` as in CLI11, with the long name last.
CLI::Option* add_number_option(CLI::App& app, const char* names, Range range, const char* help,
                               std::function<void(std::uint64_t)> store);

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
