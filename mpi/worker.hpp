// The ranks other than 0: they execute the commands of rank 0.
#pragma once

#include "mpi/ranks.hpp"
#include "paraes/ciphers.hpp"

namespace paraes::mpi {

// Executes commands until Task::quit, and returns the exit status of that command. Ends all ranks
// if it receives a message that it cannot decode. `execution`: how this rank computes.
[[nodiscard]] int run_worker(const Ranks& ranks, const Execution& execution);

}  // namespace paraes::mpi
