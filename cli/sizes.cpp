#include "cli/sizes.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>

#include "paraes/error.hpp"

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
  std::size_t digits = 0;
  std::uint64_t value = 0;
  bool fits = true;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') {
    const auto digit = static_cast<std::uint64_t>(text[digits] - '0');
    fits = fits && value <= (limit - digit) / 10;
    if (fits) value = 10 * value + digit;
    ++digits;
  }
  if (digits != 0) {
    for (const Suffix& suffix : suffixes) {
      if (text.substr(digits) != suffix.text) continue;
      if (fits && value <= limit / suffix.factor) return value * suffix.factor;
      throw InvalidArgument(fmt::format("{}: {} is more than 2^63 - 1 bytes", flag, text));
    }
  }
  throw InvalidArgument(
      fmt::format("{}: '{}' is not a size; write a whole number of bytes, or one with K M G T or "
                  "KiB MiB GiB TiB (binary), or kB MB GB TB (decimal)",
                  flag, text));
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

std::string format_rate(double bytes_per_second) {
  constexpr std::array<const char*, 5> units = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s"};
  double value = bytes_per_second;
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < units.size()) {
    value /= kilo;
    ++unit;
  }
  return fmt::format("{:.3g} {}", value, units[unit]);
}

}  // namespace paraes::cli
