// What the flags say about how a run computes.
#pragma once

#include "cli/arguments/options.hpp"
#include "cli/plan/plan.hpp"

namespace paraes::cli {

// Sets the kernel, the device and what goes with them. Throws InvalidArgument for a device or
// kernel that does not exist, and Unavailable for one that this machine lacks. info computes
// nothing.
void plan_computing(const CryptOptions& options, Plan& plan);

}  // namespace paraes::cli
