// Reads the arguments of the command.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/arguments/cli11_fwd.hpp"
#include "paraes/secret.hpp"

namespace paraes::cli {

// The verbs that read_arguments carries out itself. `app` has them for its help.
inline constexpr const char* help_verb = "help";
inline constexpr const char* version_verb = "version";

struct Arguments {
  const CLI::App* help = nullptr;  // print this one's help, and do nothing else
  bool version = false;            // print the version, and do nothing else
  // The arguments in a form that CLI11 cannot misunderstand: the verb, each flag by its long name
  // with its value behind it, `--`, and the files.
  std::vector<std::string> words;
};

// Reads argv[1] and what follows it, by the verbs and flags that `app` has. Throws InvalidArgument,
// in the words of this command and not in those of CLI11, if there is no verb, or a verb, flag or
// value that does not fit. Values do not appear in these errors: they may be secrets.
[[nodiscard]] Arguments read_arguments(CLI::App& app, int argc, const char* const* argv);

// Moves the digits of every `--key-hex DIGITS` and `--to-key-hex DIGITS` out of the arguments,
// before CLI11 copies them, and overwrites them with x's. From then on, the process list shows the
// x's.
void stash_key_hex(int argc, char** argv);

// The digits that `flag` was given. Empty if none were, or if they were taken before.
[[nodiscard]] SecretBytes take_key_hex(std::string_view flag);

}  // namespace paraes::cli
