#include <algorithm>

#include "packaging/manual/completions.hpp"
#include "packaging/manual/text.hpp"

namespace paraes::manual {
namespace {

// As a part of a function's name.
std::string identifier(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

// Sets the variables that _paraes_offer_values reads. Empty for what has no value.
std::string assignment(const Values& values) {
  // In the order of Values::Kind.
  constexpr const char* kinds[] = {"",       "text",    "words",   "list",    "files",
                                   "sealed", "folders", "program", "variable"};
  if (values.kind == Values::Kind::none) return "";
  std::string text = std::string("kind=") + kinds[static_cast<unsigned>(values.kind)];
  if (!values.words.empty()) text += " choices='" + joined(values.words) + "'";
  return text;
}

std::string names_of_flags(const std::vector<Group>& groups) {
  std::vector<std::string> names;
  for (const Flag& flag : flags_of(groups)) {
    names.insert(names.end(), flag.names.begin(), flag.names.end());
  }
  return joined(names);
}

std::string values_function(const Executable& executable) {
  std::string text;
  for (const Verb& verb : executable.verbs) {
    for (const Flag& flag : flags_of(verb.groups)) {
      // A flag that needs no value has one only behind an equals sign.
      const std::string set = assignment(values_of(flag));
      if (set.empty()) continue;
      std::vector<std::string> names = flag.names;
      for (std::string& name : names) name.insert(0, verb.name + ":");
      text += "    " + joined(names, " | ") + ") " + set + " ;;\n";
    }
  }
  return text;
}

std::string arguments_function(const Executable& executable) {
  std::string text;
  for (const Verb& verb : executable.verbs) {
    for (std::size_t i = 0; i < verb.arguments.size(); ++i) {
      const Argument& argument = verb.arguments[i];
      const Values values = values_of(executable, verb, argument);
      if (values.kind == Values::Kind::text) continue;
      const std::string set = assignment(values);
      const bool several = argument.usage.find("...") != std::string::npos;
      text += "    " + verb.name + ":" + (several ? "*" : std::to_string(i)) + ") " + set + " ;;\n";
    }
  }
  return text;
}

// The functions whose names begin with that of the program.
std::string data_of(const Executable& executable) {
  const std::string name = "_" + identifier(executable.name);
  std::string text = name + "_verbs() { echo '" + joined(names_of_verbs(executable)) + "'; }\n\n";
  text += name + "_flags() { # VERB\n  case $1 in\n    '') flags='" +
          names_of_flags(executable.groups) + "' ;;\n";
  for (const Verb& verb : executable.verbs) {
    const std::string flags = names_of_flags(verb.groups);
    if (!flags.empty()) text += "    " + verb.name + ") flags='" + flags + "' ;;\n";
  }
  text += "    *) flags= ;;\n  esac\n}\n\n";
  text += name + "_value() { # VERB FLAG\n  kind= choices=\n  case $1:$2 in\n" +
          values_function(executable) + "  esac\n}\n\n";
  text += name +
          "_argument() { # VERB NUMBER-OF-ARGUMENTS-BEFORE\n  kind= choices=\n  case $1:$2 in\n" +
          arguments_function(executable) + "  esac\n}\n\n";
  return text;
}

}  // namespace

std::string bash_completion(const Executable& executable, const Nested& nested,
                            const std::string& engine) {
  const std::string program = identifier(executable.name);
  std::string text = "# Completes the command line of " + executable.name +
                     " in Bash. Generated from the description that --help prints.\n\n";
  text += engine;
  text += data_of(executable);
  if (nested.executable != nullptr) text += data_of(*nested.executable);
  text += "_" + program + "() {\n  local words current kept\n  COMPREPLY=()\n" +
          "  _paraes_read_line \"$2\"\n";
  if (nested.executable != nullptr) {
    text += "  if ((${#words[@]} > 2)) && [[ ${words[1]} == " + nested.verb +
            " ]]; then\n    words=(\"${words[@]:1}\")\n    _paraes_complete " +
            identifier(nested.executable->name) + "\n    return\n  fi\n";
  }
  text += "  _paraes_complete " + program + "\n}\n\ncomplete -F _" + program + " " +
          executable.name + "\n";
  return text;
}

}  // namespace paraes::manual
