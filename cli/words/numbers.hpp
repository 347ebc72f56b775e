// The numbers in flags. All are decimal: 017 is 17, and 0x11, 1e1, +5 and " 5" are errors.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace paraes::cli {

// All throw InvalidArgument, which names the flag and what it takes.

// A whole number from `least` to `most`.
[[nodiscard]] std::uint64_t parse_number(std::string_view text, std::string_view flag,
                                         std::uint64_t least, std::uint64_t most);
// One of these numbers.
[[nodiscard]] unsigned parse_number_of(std::string_view text, std::string_view flag,
                                       std::span<const unsigned> choices);
// A number from `least` to `most`, which may have a decimal point.
[[nodiscard]] double parse_decimal(std::string_view text, std::string_view flag, double least,
                                   double most);
// Bytes in hex, two digits each. The text may be secret, and does not appear in errors.
[[nodiscard]] std::vector<std::uint8_t> parse_hex(std::string_view text, std::string_view flag);

template <class T>
struct NumberInside {
  using type = T;
};
template <class T>
struct NumberInside<std::optional<T>> {
  using type = T;
};

}  // namespace paraes::cli
