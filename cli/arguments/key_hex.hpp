// Keys in arguments, which the process list shows.
#pragma once

#include <string_view>

#include "paraes/secret.hpp"

namespace paraes::cli {

// Moves the digits of every `--key-hex DIGITS` and `--to-key-hex DIGITS` out of the arguments,
// before CLI11 copies them, and overwrites them with x's. From then on, the process list shows the
// x's.
void stash_key_hex(int argc, char** argv);

// The digits that `flag` was given. Empty if none were, or if they were taken before.
[[nodiscard]] SecretBytes take_key_hex(std::string_view flag);

}  // namespace paraes::cli
