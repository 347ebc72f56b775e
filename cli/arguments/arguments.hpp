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

// The flags that the words of a command may name. Verbs with many flags add only these: to add all,
// each of which CLI11 compares with those before it, takes longer than the work on a small file.
// Only help and errors need the others.
class NamedFlags {
 public:
  // The flags that argv[1] and the words behind it may name. Refers to `argv`.
  NamedFlags(int argc, const char* const* argv);

  [[nodiscard]] static NamedFlags all() { return {}; }

  // `names`: of one flag, as CLI11 takes them, the short one first. True for each flag that
  // read_arguments would look for, and may be true for others: in -T4, 4 could be a flag.
  [[nodiscard]] bool include(std::string_view names) const;

 private:
  NamedFlags() = default;

  bool all_ = true;
  std::vector<std::string_view> words_;  // that begin with a dash
};

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
