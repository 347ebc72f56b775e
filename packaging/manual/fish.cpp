#include <algorithm>
#include <array>
#include <string_view>

#include "packaging/manual/completions.hpp"
#include "packaging/manual/text.hpp"

namespace paraes::manual {
namespace {

std::string quoted(std::string_view text) { return "'" + backslashed(text, "'\\") + "'"; }

// The options of `complete` for a value: -x takes no files, and -r needs a value.
std::string value_options(const Values& values) {
  const std::string words = joined(values.words);
  // In the order of Values::Kind.
  const std::array<std::string, 9> options = {
      "",
      " -x",
      " -x -a " + quoted(words),
      " -x -a " + quoted("(__fish_append , " + words + ")"),
      " -r -F",
      " -k -x -a '(__fish_complete_suffix .paes)'",
      " -x -a '(__fish_complete_directories)'",
      " -x -a '(__fish_complete_command)'",
      " -x -a '(set -nx)'",
  };
  return options.at(static_cast<std::size_t>(values.kind));
}

class FishWriter {
 public:
  explicit FishWriter(std::string program) : program_(std::move(program)) {
    prefix_ = "__" + program_;
    std::replace(prefix_.begin(), prefix_.end(), '-', '_');
  }

  // `condition` is a command that succeeds where the flags and verbs go.
  void flags(const std::vector<Group>& groups, const std::string& condition) {
    for (const Flag& flag : flags_of(groups)) {
      text_ += start(condition);
      for (const std::string& name : flag.names) {
        text_ += name.size() == 2 ? " -s " + name.substr(1) : " -l " + name.substr(2);
      }
      // A value that may be left out is not asked for.
      if (!flag.value_is_optional) text_ += value_options(values_of(flag));
      text_ += " -d " + quoted(short_text(flag.text)) + "\n";
    }
  }

  void verbs(const Executable& executable, const std::string& condition) {
    for (const Verb& verb : executable.verbs) {
      text_ +=
          start(condition) + " -a " + verb.name + " -d " + quoted(short_text(verb.summary)) + "\n";
    }
  }

  void arguments(const Executable& executable, const Verb& verb, const std::string& condition) {
    for (const Argument& argument : verb.arguments) {
      std::string options = value_options(values_of(executable, verb, argument));
      // An argument needs no value behind it.
      if (options.rfind(" -r", 0) == 0) options.erase(0, 3);
      if (options == " -x") continue;
      text_ += start(condition) + options + "\n";
    }
  }

  void everything(const Executable& executable, const std::string& nested_verb,
                  const std::string& skipped_words) {
    const std::string at = prefix_ + "_verb_is " + skipped_words;
    flags(executable.groups, at);
    verbs(executable, at);
    for (const Verb& verb : executable.verbs) {
      if (verb.name == nested_verb) continue;
      text_ += "\n";
      flags(verb.groups, at + " " + verb.name);
      arguments(executable, verb, at + " " + verb.name);
    }
  }

  void line(const std::string& text) { text_ += text + "\n"; }
  [[nodiscard]] const std::string& prefix() const { return prefix_; }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  [[nodiscard]] std::string start(const std::string& condition) const {
    return "complete -c " + program_ + " -n " + quoted(condition);
  }

  std::string program_;
  std::string prefix_;
  std::string text_;
};

}  // namespace

std::string fish_completion(const Executable& executable, const Nested& nested) {
  FishWriter writer(executable.name);
  writer.line("# Completes the command line of " + executable.name +
              " in fish. Generated from the description that --help prints.\n");
  writer.line(
      "# Whether the words before the cursor have this verb, or none if VERB is not given.");
  writer.line("# SKIPPED: how many words come before the verb.");
  writer.line("function " + writer.prefix() + "_verb_is # SKIPPED [VERB]");
  writer.line("    set -l skipped $argv[1]");
  writer.line("    set -l words (commandline -opc)");
  if (nested.executable != nullptr) {
    // The verb itself is a word that the nested program does not see.
    writer.line("    if test \"$words[2]\" = " + nested.verb);
    writer.line("        test $skipped = 2; or return 1");
    writer.line("    else");
    writer.line("        test $skipped = 1; or return 1");
    writer.line("    end");
  }
  writer.line("    set -l rest $words[(math $skipped + 1)..-1]");
  writer.line("    if set -q argv[2]");
  writer.line("        test \"$rest[1]\" = $argv[2]");
  writer.line("    else");
  writer.line("        not set -q rest[1]");
  writer.line("    end");
  writer.line("end\n");
  writer.line("complete -c " + executable.name + " -f\n");
  writer.everything(executable, nested.verb, "1");
  if (nested.executable != nullptr) {
    writer.line("\n# paraes " + nested.verb);
    writer.everything(*nested.executable, "", "2");
  }
  return writer.take();
}

}  // namespace paraes::manual
