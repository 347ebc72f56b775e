// Who reads the standard input of a run: the data, a key or a passphrase. Only one of them can.
#pragma once

#include <string>
#include <vector>

#include "cli/arguments/options.hpp"

namespace paraes::cli {

// The inputs of a run. Without a FILE, standard input is the one input: unless that is a terminal
// (`is_terminal`), whose user has more likely forgotten the FILE, or a flag needs a FILE, or
// standard input for itself. Then there is none.
[[nodiscard]] std::vector<std::string> inputs_of(const CryptOptions& options, bool is_terminal);

struct StandardInput {
  bool is_data = false;   // an input is standard input, as far as its name tells
  bool is_taken = false;  // the data or a secret is read from it, whatever name it has there
};

// Throws InvalidArgument if there are no inputs, if two want standard input, or if a flag names it
// that needs a file.
[[nodiscard]] StandardInput plan_standard_input(const CryptOptions& options,
                                                const std::vector<std::string>& inputs);

}  // namespace paraes::cli
