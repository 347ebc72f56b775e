#include "cli/words/numbers.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "cli/words/spelling.hpp"
#include "paraes/error.hpp"

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

double parse_decimal(std::string_view text, std::string_view flag, double least, double most) {
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  // Without this, a sign, "inf" and "nan" would be numbers, too.
  const bool decimal = text.find_first_not_of("0123456789.") == std::string_view::npos;
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (decimal && whole && value >= least && value <= most) return value;
  throw InvalidArgument(
      fmt::format("{}: '{}' is not a number from {} to {}", flag, text, least, most));
}

// Adds a flag whose value `store` gets, with the flag's long name.
CLI::Option* add_text_option(
    CLI::App& app, const char* names, const char* help,
    std::function<void(const std::string& text, std::string_view flag)> store) {
  const std::string_view all(names);
  const std::string flag(all.substr(all.find("--")));
  return app
      .add_option(
          names,
          [flag, store = std::move(store)](const CLI::results_t& given) {
            store(given.at(0), flag);
            return true;
          },
          help)
      ->type_name("N");
}

}  // namespace

std::uint64_t parse_number(std::string_view text, std::string_view flag, std::uint64_t least,
                           std::uint64_t most) {
  const std::optional<std::uint64_t> value = read_decimal(text);
  if (value && *value >= least && *value <= most) return *value;
  throw InvalidArgument(
      fmt::format("{}: '{}' is not a whole number from {} to {}", flag, text, least, most));
}

CLI::Option* add_number_option(CLI::App& app, const char* names, Range range, const char* help,
                               std::function<void(std::uint64_t)> store) {
  return add_text_option(
      app, names, help,
      [range, store = std::move(store)](const std::string& text, std::string_view flag) {
        store(parse_number(text, flag, range.least, range.most));
      });
}

CLI::Option* add_number_of(CLI::App& app, const char* names, unsigned& value,
                           std::vector<unsigned> choices, const char* help) {
  std::vector<std::string> words;
  words.reserve(choices.size());
  for (const unsigned choice : choices) words.push_back(std::to_string(choice));
  const auto parse = [&value, choices = std::move(choices), words](const std::string& text,
                                                                   std::string_view flag) {
    const std::optional<std::uint64_t> number = read_decimal(text);
    const auto found = std::find(choices.begin(), choices.end(), number);
    if (found == choices.end()) {
      throw InvalidArgument(fmt::format("{}: '{}' is not {}", flag, text, listed(words, "or")));
    }
    value = *found;
  };
  return add_text_option(app, names, help, parse)
      ->type_name(fmt::format("{}", fmt::join(words, "|")));
}

CLI::Option* add_decimal(CLI::App& app, const char* names, double& value, double least, double most,
                         const char* help) {
  return add_text_option(app, names, help,
                         [&value, least, most](const std::string& text, std::string_view flag) {
                           value = parse_decimal(text, flag, least, most);
                         });
}

}  // namespace paraes::cli
