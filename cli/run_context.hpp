// The state that all files of a run share.
#pragma once

#include <mutex>

#include "cli/distributor.hpp"
#include "cli/message_factory.hpp"
#include "cli/place.hpp"
#include "cli/plan.hpp"
#include "cli/protected_files.hpp"

namespace paraes::cli {

struct RunContext {
  // Keeps references to its arguments. `distributor`: see run_batch. Throws InvalidArgument: see
  // check_passphrase_fd.
  RunContext(const CryptOptions& given_options, const Plan& given_plan,
             Distributor* given_distributor)
      : options(given_options),
        plan(given_plan),
        distributor(given_distributor),
        messages(given_options, given_plan),
        files(secret_files(given_options.keys),
              given_options.output.force || given_options.output.update) {
    check_passphrase_fd(given_options, given_plan.verb);
  }

  const CryptOptions& options;
  const Plan& plan;
  Distributor* const distributor;
  MessageFactory messages;
  TreeRoots roots;
  ProtectedFiles files;
  Leftovers leftovers;
  // These messages are printed once per run.
  std::once_flag what_runs;
  std::once_flag fallback;
};

}  // namespace paraes::cli
