// Completions of the command line, a file for each shell and executable.
#pragma once

#include <string>

#include "packaging/manual/description.hpp"

namespace paraes::manual {

// The verbs and flags of another executable, which follow a verb.
struct Nested {
  std::string verb;  // empty: there is none
  const Executable* executable = nullptr;
};

// `engine`: the functions of engine.bash, which read the line and offer words.
[[nodiscard]] std::string bash_completion(const Executable& executable, const Nested& nested,
                                          const std::string& engine);
[[nodiscard]] std::string zsh_completion(const Executable& executable, const Nested& nested);
[[nodiscard]] std::string fish_completion(const Executable& executable, const Nested& nested);

}  // namespace paraes::manual
