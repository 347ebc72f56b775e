#include "packaging/manual/description.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "cli/words/help.hpp"
#include "packaging/manual/text.hpp"

namespace paraes::manual {
namespace {

Flag flag_of(const CLI::Option& option) {
  Flag flag;
  for (const std::string& name : option.get_snames()) flag.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) flag.names.push_back("--" + name);
  flag.type = option.get_type_name();
  flag.text = joined_lines(option.get_description());
  flag.repeats = option.get_expected_max() == CLI::detail::expected_max_vector_size;
  flag.value_is_optional =
      option.get_items_expected_min() == 0 && option.get_items_expected_max() > 0;
  return flag;
}

// In the order of --help.
std::vector<Group> groups_of(const CLI::App& app) {
  std::vector<Group> groups;
  for (const std::string& name : app.get_groups()) {
    const std::vector<const CLI::Option*> options = app.get_options([&](const CLI::Option* option) {
      return option->get_group() == name && option->nonpositional();
    });
    if (name.empty() || options.empty()) continue;
    Group group;
    const std::size_t note = name.find(" (");
    group.title = name.substr(0, note);
    if (note != std::string::npos) group.note = sentence(name.substr(note + 2));
    for (const CLI::Option* option : options) group.flags.push_back(flag_of(*option));
    groups.push_back(std::move(group));
  }
  return groups;
}

std::vector<Argument> arguments_of(const CLI::App& app) {
  std::vector<Argument> arguments;
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_positional()) continue;
    arguments.push_back({.name = option->get_name(true),
                         .usage = cli::usage_of_argument(*option),
                         .text = joined_lines(option->get_description()),
                         .words = {}});
  }
  return arguments;
}

}  // namespace

// How lab.json has them.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Flag, names, type, text)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Group, title, note, flags)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Argument, name, usage, text, words)

const Verb* Executable::find(const std::string& verb) const {
  const auto found = std::find_if(verbs.begin(), verbs.end(),
                                  [&](const Verb& candidate) { return candidate.name == verb; });
  return found == verbs.end() ? nullptr : &*found;
}

Executable describe(const cli::ExecutableInfo& info) {
  int status = 0;
  const auto app = cli::make_app(info, {}, status);
  Executable executable = {.name = info.name,
                           .summary = info.summary,
                           .groups = groups_of(*app),
                           .verbs = {},
                           .text = parse_text(info.footer)};
  for (const CLI::App* verb : app->get_subcommands({})) {
    executable.verbs.push_back({.name = verb->get_name(),
                                .summary = verb->get_description(),
                                .arguments = arguments_of(*verb),
                                .groups = groups_of(*verb),
                                .text = parse_text(verb->get_footer())});
  }
  return executable;
}

Executable read_description(const std::string& json) {
  const nlohmann::json root = nlohmann::json::parse(json);
  Executable executable = {.name = root.at("name"),
                           .summary = root.at("summary"),
                           .groups = root.at("groups"),
                           .verbs = {},
                           .text = {}};
  for (const nlohmann::json& verb : root.at("verbs")) {
    executable.verbs.push_back(
        {.name = verb.at("name"),
         .summary = verb.at("summary"),
         .arguments = verb.at("arguments"),
         .groups = verb.at("groups"),
         .text = {.paragraphs = verb.at("paragraphs"), .exit_statuses = {}, .examples = {}}});
  }
  for (const nlohmann::json& status : root.at("exit_statuses")) {
    executable.text.exit_statuses.push_back({status.at(0), status.at(1)});
  }
  for (const nlohmann::json& example : root.at("examples")) {
    executable.text.examples.push_back({example, ""});
  }
  return executable;
}

}  // namespace paraes::manual
