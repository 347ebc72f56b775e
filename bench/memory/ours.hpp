// Our own kernels through the public classes.
#pragma once

#include <memory>
#include <string>

#include "bench/memory/job.hpp"

namespace paraes::bench {

// Throws Skip for a share of a message (Job::offset) in GCM or CBC encryption.
[[nodiscard]] std::unique_ptr<Implementation> make_ours(const Job& job, const std::string& kernel);
// On a GPU too; throws what its cipher throws.
[[nodiscard]] std::unique_ptr<Implementation> make_ours(const Job& job, const Execution& execution);

}  // namespace paraes::bench
