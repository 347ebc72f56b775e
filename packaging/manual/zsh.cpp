#include <array>
#include <string_view>

#include "packaging/manual/completions.hpp"
#include "packaging/manual/text.hpp"

namespace paraes::manual {
namespace {

// Inside single quotes.
std::string quoted(std::string_view text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'') {
      result += "'\\''";
    } else {
      result += c;
    }
  }
  return result + "'";
}

std::string action(const Values& values, const std::string& title) {
  const std::string words = joined(values.words);
  // In the order of Values::Kind.
  const std::array<std::string, 9> actions = {
      "",
      " ",
      "(" + words + ")",
      " _values -s , " + title + " " + words,  // the space: _values gets these arguments alone
      "_files",
      "_paraes_sealed_files",
      "_files -/",
      "_cmdstring",
      "_parameters -g \"*export*\"",
  };
  return actions.at(static_cast<std::size_t>(values.kind));
}

// The name of the value in messages: a word without colons.
std::string title_of(const Flag& flag) {
  std::string name = flag.names.back();
  return name.substr(name.find_first_not_of('-'));
}

// '(-k --key-file)'{-k+,--key-file=}'[Key.]:key-file:_files'
std::string specification(const Flag& flag) {
  const bool has_value = !flag.type.empty();
  std::string names;
  for (const std::string& name : flag.names) {
    const bool is_long = name.size() > 2;
    const char* const value = !has_value ? "" : flag.value_is_optional ? "=-" : is_long ? "=" : "+";
    names.append(names.empty() ? "" : ",").append(name).append(value);
  }
  if (flag.names.size() > 1) names = "{" + names + "}";
  const std::string exclusion = flag.repeats ? "'*'" : "'(" + joined(flag.names) + ")'";
  // Brackets and backslashes have a meaning in a specification of _arguments.
  std::string text = "[" + backslashed(short_text(flag.text), "[]\\") + "]";
  if (has_value) {
    text += flag.value_is_optional ? "::" : ":";
    text += title_of(flag) + ":" + action(values_of(flag), title_of(flag));
  }
  return exclusion + names + quoted(text);
}

std::string specifications(const std::vector<Group>& groups, const std::string& indent) {
  std::string text;
  for (const Flag& flag : flags_of(groups)) text += " \\\n" + indent + specification(flag);
  return text;
}

std::string arguments_of(const Executable& executable, const Verb& verb,
                         const std::string& indent) {
  std::string text;
  for (const Argument& argument : verb.arguments) {
    const Values values = values_of(executable, verb, argument);
    const bool several = argument.usage.find("...") != std::string::npos;
    text += " \\\n" + indent +
            quoted((several ? "*:" : ":") + backslashed(argument.name, ":=") + ":" +
                   action(values, argument.name));
  }
  return text;
}

// Other formats than the default have other names.
constexpr const char* sealed_files =
    "_paraes_sealed_files() {\n"
    "  if (( ${words[(I)--format(=*|)]} )); then\n"
    "    _files \"$@\"\n"
    "  else\n"
    "    _files \"$@\" -g \"*.paes\"\n"
    "  fi\n"
    "}\n\n";

}  // namespace

std::string zsh_completion(const Executable& executable, const Nested& nested) {
  const std::string function = "_" + executable.name;
  std::string text =
      "#compdef " + executable.name + "\n# Completes the command line of " + executable.name +
      " in zsh. Generated from the description that --help prints.\n\n" + sealed_files + function +
      "() {\n  local context state state_descr line curcontext=\"$curcontext\" "
      "ret=1\n  local -a verbs\n  typeset -A opt_args\n\n  _arguments -C -S";
  text += specifications(executable.groups, "    ");
  text +=
      " \\\n    '1: :->verb' \\\n    '*:: :->arguments' && ret=0\n\n  case $state in\n    (verb)\n"
      "      verbs=(\n";
  for (const Verb& verb : executable.verbs) {
    text += "        " + quoted(verb.name + ":" + short_text(verb.summary)) + "\n";
  }
  text +=
      "      )\n      _describe -t verbs verb verbs && ret=0\n      ;;\n    (arguments)\n"
      "      curcontext=\"${curcontext%:*:*}:" +
      executable.name + "-$words[1]:\"\n      case $words[1] in\n";
  for (const Verb& verb : executable.verbs) {
    if (nested.executable != nullptr && verb.name == nested.verb) {
      text += "        (" + verb.name + ") _" + nested.executable->name + " && ret=0 ;;\n";
      continue;
    }
    text += "        (" + verb.name + ")\n          _arguments -s -S" +
            specifications(verb.groups, "            ") +
            arguments_of(executable, verb, "            ") + " && ret=0\n          ;;\n";
  }
  text += "      esac\n      ;;\n  esac\n  return ret\n}\n\n" + function + " \"$@\"\n";
  return text;
}

}  // namespace paraes::manual
