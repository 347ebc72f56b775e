#include "cli/arguments/number_flags.hpp"

#include <CLI/CLI.hpp>
#include <utility>

namespace paraes::cli {

CLI::Option* add_value(CLI::App& app, const std::string& names, const std::string& type,
                       const char* help, TakeValue take) {
  // The results as they were given: CLI11 would convert words such as {} on their way to a vector.
  const CLI::callback_t take_all = [flag = names.substr(names.find("--")),
                                    take = std::move(take)](const CLI::results_t& given) {
    for (const std::string& text : given) take(flag, text);
    return true;
  };
  return app.add_option(names, take_all, help)->type_name(type);
}

}  // namespace paraes::cli
