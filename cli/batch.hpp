// A run over its inputs: one, or several and whole folders.
#pragma once

#include "cli/distributor.hpp"
#include "cli/plan.hpp"

namespace paraes::cli {

// Does what `verb` does with all inputs, says what happened, and returns the exit status.
// `distributor`, if there is one, carries the messages that are not small files among several.
[[nodiscard]] int run_batch(const CryptOptions& options, Verb verb, Distributor* distributor);

}  // namespace paraes::cli
