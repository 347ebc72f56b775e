// The part of all ranks but 0: they do what they are told.
#pragma once

#include "mpi/ranks.hpp"
#include "paraes/ciphers.hpp"

namespace paraes::mpi {

// Takes orders until the last, and returns the exit status that it has. `execution`: how this rank
// computes.
[[nodiscard]] int serve(const Ranks& ranks, const Execution& execution);

}  // namespace paraes::mpi
