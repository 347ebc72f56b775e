#include "cli/words/numbers.hpp"

#include <algorithm>
#include <charconv>
#include <string>

#include "cli/words/errors.hpp"
#include "cli/words/spelling.hpp"

namespace paraes::cli {
namespace {

// nullopt if it is not a whole number, or if it is too large for 64 bits.
std::optional<std::uint64_t> read_decimal(std::string_view text) {
  std::uint64_t value = 0;
  // Unsigned, from_chars takes digits alone.
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole ? std::optional(value) : std::nullopt;
}

}  // namespace

std::uint64_t parse_number(std::string_view text, std::string_view flag, std::uint64_t least,
                           std::uint64_t most) {
  const std::optional<std::uint64_t> value = read_decimal(text);
  if (value && *value >= least && *value <= most) return *value;
  throw refusal("{}: '{}' is not a whole number from {} to {}", flag, text, least, most);
}

unsigned parse_number_of(std::string_view text, std::string_view flag,
                         std::span<const unsigned> choices) {
  const std::optional<std::uint64_t> number = read_decimal(text);
  const auto found = std::find(choices.begin(), choices.end(), number);
  if (found != choices.end()) return *found;
  std::vector<std::string> words;
  for (const unsigned choice : choices) words.push_back(std::to_string(choice));
  throw refusal("{}: '{}' is not {}", flag, text, listed(words, "or"));
}

double parse_decimal(std::string_view text, std::string_view flag, double least, double most) {
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  // Without this, a sign, "inf" and "nan" would be numbers, too.
  const bool decimal = text.find_first_not_of("0123456789.") == std::string_view::npos;
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (decimal && whole && value >= least && value <= most) return value;
  throw refusal("{}: '{}' is not a number from {} to {}", flag, text, least, most);
}

std::vector<std::uint8_t> parse_hex(std::string_view text, std::string_view flag) {
  if (text.find_first_not_of("0123456789abcdefABCDEF") != std::string_view::npos) {
    throw refusal("{} has a character that is not a hex digit", flag);
  }
  if (text.size() % 2 != 0) {
    throw refusal("{} has {} hex digits, an odd number; a byte is two digits", flag, text.size());
  }
  std::vector<std::uint8_t> bytes(text.size() / 2);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::from_chars(text.data() + 2 * i, text.data() + 2 * i + 2, bytes[i], 16);
  }
  return bytes;
}

}  // namespace paraes::cli
