// Inputs, outputs and secrets whose names mean open descriptors, such as /dev/fd/3.
#pragma once

#include <string>

#include "cli/arguments/options.hpp"
#include "cli/plan/plan.hpp"

namespace paraes::cli {

// Checks the descriptors that names mean, before this process opens any of its own. Throws
// InvalidArgument for one that is not open as it needs to be; under a launcher, for any above
// standard error: what MPI has open would be taken for it. Returns the name of an input or output
// that means a descriptor; empty if none does, as far as the text of the inputs tells.
[[nodiscard]] std::string check_named_descriptors(const CryptOptions& options, const Plan& plan);

}  // namespace paraes::cli
