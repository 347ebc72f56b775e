// Runs a verb over its inputs: one file, several files, or folders.
#pragma once

#include <exception>
#include "cli/plan/plan.hpp"

#include "cli/run/distributor.hpp"

namespace paraes::cli {

// Call it before make_plan: opening a driver for the plan takes a while, in which SIGUSR1 may come,
// and starts threads, before which the umask must be remembered.
void begin_run();

// Carries out the plan on all inputs, reports the results and returns the exit status. A
// `distributor` that is not null transfers the messages, except those of concurrent files when
// there are several inputs.
[[nodiscard]] int run_batch(Plan plan, Distributor* distributor);

// Reports a run that is refused as a whole, by the name of its first input, and returns the exit
// status.
[[nodiscard]] int refuse_run(const Reporting& reporting, const std::exception& error);

}  // namespace paraes::cli
