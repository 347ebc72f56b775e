// A run over its inputs: one, or several and whole folders.
#pragma once

#include "plan.hpp"

namespace paraes::cli {

// Does what `verb` does with all inputs, says what happened, and returns the exit status.
[[nodiscard]] int run_batch(const CryptOptions& options, Verb verb);

}  // namespace paraes::cli
