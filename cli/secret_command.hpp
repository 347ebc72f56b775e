// Reads secrets that shell commands print.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "paraes/secret.hpp"

namespace paraes::cli {

// Runs `command` with /bin/sh and returns what it printed. `flag`: names it in errors. `kind`:
// "key". `keep_stdin`: whether it reads the standard input of this process, or an empty one. Throws
// InvalidArgument if it printed more than `most` bytes, and Error if it failed.
[[nodiscard]] SecretBytes output_of_command(const std::string& command, const std::string& flag,
                                            std::string_view kind, std::size_t most,
                                            bool keep_stdin);

}  // namespace paraes::cli
