// The state that all files of a run share.
#pragma once

#include <mutex>

#include "cli/files/file_context.hpp"
#include "cli/plan/plan.hpp"
#include "cli/plan/secrets.hpp"
#include "cli/run/distributor.hpp"
#include "cli/secrets/keys.hpp"
#include "cli/secrets/message_factory.hpp"

namespace paraes::cli {

struct RunContext : FileContext {
  // Keeps references to its arguments. `distributor`: see run_batch. Throws InvalidArgument: see
  // check_passphrase_fds.
  RunContext(const Plan& given_plan, Distributor* given_distributor)
      : FileContext(given_plan),
        distributor(given_distributor),
        messages(plan, plan.keys, known),
        new_messages(plan, plan.new_keys, known) {
    check_passphrase_fds(plan);
    if (!plan.starts_programs()) return;
    hide_descriptors(plan.keys);
    hide_descriptors(plan.new_keys);
  }

  Distributor* const distributor;
  MessageFactory messages;
  MessageFactory new_messages;  // of rekey
  // These messages are printed once per run.
  std::once_flag what_runs;
  std::once_flag fallback;
  std::once_flag kept_keys;
  std::once_flag unknown_origin;
};

}  // namespace paraes::cli
