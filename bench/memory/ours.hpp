// The kernels of paraes, called through its public classes.
#pragma once

#include <memory>
#include <string>

#include "bench/memory/job.hpp"

namespace paraes::bench {

// Works on the CPU. Throws Skip for GCM or CBC encryption of a share of a message (Job::offset).
[[nodiscard]] std::unique_ptr<Implementation> make_ours(const Job& job, const std::string& kernel);
// Works on any device. Throws the errors of the cipher's constructor as well.
[[nodiscard]] std::unique_ptr<Implementation> make_ours(const Job& job, const Execution& execution);

}  // namespace paraes::bench
