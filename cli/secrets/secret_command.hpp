// Reads secrets that shell commands print.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "cli/secrets/keys.hpp"
#include "paraes/secret.hpp"

namespace paraes::cli {

// Runs `command` with /bin/sh and returns what it printed. `flag`: names it in errors. `kind`:
// "key". Throws InvalidArgument if it printed more than `most` bytes, and Error if it failed.
[[nodiscard]] SecretBytes output_of_command(const std::string& command, const std::string& flag,
                                            std::string_view kind, std::size_t most,
                                            const SecretReading& how);

}  // namespace paraes::cli
