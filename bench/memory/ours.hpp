// The kernels of paraes, called through its public classes.
#pragma once

#include <memory>
#include <string>

#include "bench/memory/job.hpp"

namespace paraes::bench {

// On the CPU. Throws Skip for GCM or CBC encryption of a share of a message (Job::offset).
[[nodiscard]] std::unique_ptr<Implementation> make_ours(const Job& job, const std::string& kernel);
// On any device. Also throws what the constructor of the cipher throws.
[[nodiscard]] std::unique_ptr<Implementation> make_ours(const Job& job, const Execution& execution);

}  // namespace paraes::bench
