// The state that all files of a run share.
#pragma once

#include <mutex>

#include "cli/message_factory.hpp"
#include "cli/place.hpp"
#include "cli/plan.hpp"
#include "cli/protected_files.hpp"
#include "cli/transport.hpp"

namespace paraes::cli {

struct RunContext {
  // Keeps references to its arguments. `transport`: see run_batch.
  RunContext(const CryptOptions& given_options, const Plan& given_plan, Transport* given_transport)
      : options(given_options),
        plan(given_plan),
        transport(given_transport),
        messages(given_options, given_plan),
        files(secret_files(given_options.keys), given_options.output.force) {}

  const CryptOptions& options;
  const Plan& plan;
  Transport* const transport;
  MessageFactory messages;
  Roots roots;
  ProtectedFiles files;
  Leftovers leftovers;
  // Each message is printed once a run.
  std::once_flag what_runs;
  std::once_flag fallback;
};

}  // namespace paraes::cli
