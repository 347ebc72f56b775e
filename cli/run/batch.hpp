// Runs a verb over its inputs: one file, several files, or folders.
#pragma once

#include "cli/plan/plan.hpp"
#include "cli/run/distributor.hpp"

namespace paraes::cli {

// Runs `verb` on all inputs, reports the results and returns the exit status. A `distributor` that
// is not null transfers the messages, except those of small files when there are several inputs.
[[nodiscard]] int run_batch(const CryptOptions& options, Verb verb, Distributor* distributor);

}  // namespace paraes::cli
