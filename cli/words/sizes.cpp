#include "cli/words/sizes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <system_error>

#include "cli/words/errors.hpp"

namespace paraes::cli {
namespace {

struct Suffix {
  std::string_view text;
  std::uint64_t factor;
};

constexpr std::uint64_t kibi = 1024;
constexpr std::uint64_t kilo = 1000;

constexpr std::array<Suffix, 14> suffixes = {{
    {"", 1},
    {"B", 1},
    {"K", kibi},
    {"M", kibi* kibi},
    {"G", kibi* kibi* kibi},
    {"T", kibi* kibi* kibi* kibi},
    {"KiB", kibi},
    {"MiB", kibi* kibi},
    {"GiB", kibi* kibi* kibi},
    {"TiB", kibi* kibi* kibi* kibi},
    {"kB", kilo},
    {"MB", kilo* kilo},
    {"GB", kilo* kilo* kilo},
    {"TB", kilo* kilo* kilo* kilo},
}};

}  // namespace

std::uint64_t parse_size(std::string_view text, std::string_view flag) {
  constexpr auto limit = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  std::uint64_t value = 0;
  // Unsigned, from_chars takes digits alone.
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc::invalid_argument) {
    const std::string_view suffix = text.substr(static_cast<std::size_t>(end - text.data()));
    for (const Suffix& unit : suffixes) {
      if (suffix != unit.text) continue;
      if (error == std::errc() && value <= limit / unit.factor) return value * unit.factor;
      throw refusal("{}: {} is more than 2^63 - 1 bytes", flag, text);
    }
  }
  throw refusal(
      "{}: '{}' is not a size; write a whole number of bytes, or one with K M G T or KiB MiB GiB "
      "TiB (binary), or kB MB GB TB (decimal)",
      flag, text);
}

std::string format_size(std::uint64_t bytes) {
  if (bytes < kibi) return fmt::format("{} B", bytes);
  constexpr std::array<const char*, 6> units = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / kibi;
  std::size_t unit = 0;
  // 1023.95 would print as "1024.0".
  while (value >= 1023.95 && unit + 1 < units.size()) {
    value /= kibi;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, units[unit]);
}

AmountText amount_text(std::uint64_t bytes) noexcept {
  constexpr std::array<const char*, 7> units = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  // `value` has three digits, the last `decimals` of them after the point.
  std::uint64_t value = bytes;
  int decimals = 0;
  std::size_t unit = 0;
  for (std::uint64_t scale = 10; value >= 1000; scale *= 10) {
    if (decimals == 0) {
      decimals = 3;
      ++unit;
    }
    --decimals;
    value = bytes / scale + (bytes % scale >= scale / 2 ? 1 : 0);
  }
  std::array<char, 3> digits{};
  const char* const end = std::to_chars(digits.begin(), digits.end(), value).ptr;
  AmountText text{};
  char* next = text.data();
  for (const char* digit = digits.data(); digit != end; ++digit) {
    *next++ = *digit;
    if (end - digit == decimals + 1 && decimals != 0) *next++ = '.';
  }
  *next++ = ' ';
  for (const char* name = units[unit]; *name != '\0'; ++name) *next++ = *name;
  return text;
}

std::string format_amount(std::uint64_t bytes) { return amount_text(bytes).data(); }

std::string format_rate(double bytes_per_second) {
  constexpr double most = 9e18;
  return format_amount(static_cast<std::uint64_t>(std::min(bytes_per_second + 0.5, most))) + "/s";
}

}  // namespace paraes::cli
