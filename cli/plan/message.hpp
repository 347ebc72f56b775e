// What the flags say about the format of messages and streams.
#pragma once

#include "cli/arguments/options.hpp"
#include "cli/plan/plan.hpp"

namespace paraes::cli {

// Sets what `plan`, whose format is known, says about it. Throws InvalidArgument for flags that the
// format needs or refuses. Flags that have no effect are left to check_flags.
void plan_message(const CryptOptions& options, Plan& plan);

}  // namespace paraes::cli
