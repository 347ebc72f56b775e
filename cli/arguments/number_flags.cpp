#include "cli/arguments/number_flags.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace paraes::cli {
namespace {

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
  std::string type = fmt::format("{}", fmt::join(choices, "|"));
  const auto parse = [&value, choices = std::move(choices)](const std::string& text,
                                                            std::string_view flag) {
    value = parse_number_of(text, flag, choices);
  };
  return add_text_option(app, names, help, parse)->type_name(std::move(type));
}

CLI::Option* add_decimal(CLI::App& app, const char* names, double& value, double least, double most,
                         const char* help) {
  return add_text_option(app, names, help,
                         [&value, least, most](const std::string& text, std::string_view flag) {
                           value = parse_decimal(text, flag, least, most);
                         });
}

}  // namespace paraes::cli
