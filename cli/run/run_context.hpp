// The state that all files of a run share.
#pragma once

#include <mutex>
#include <utility>
#include <vector>

#include "cli/files/place.hpp"
#include "cli/files/protected_files.hpp"
#include "cli/plan/plan.hpp"
#include "cli/run/distributor.hpp"
#include "cli/secrets/message_factory.hpp"

namespace paraes::cli {

struct RunContext {
  // Keeps references to its arguments. `distributor`: see run_batch. Throws InvalidArgument: see
  // check_passphrase_fd.
  RunContext(const CryptOptions& given_options, const Plan& given_plan,
             Distributor* given_distributor)
      : options(given_options),
        plan(given_plan),
        distributor(given_distributor),
        messages(given_options, given_plan, given_options.keys, known),
        new_messages(given_options, given_plan, given_options.to, known),
        files(secret_files(given_options), known,
              given_options.output.force || given_options.output.update ||
                  given_plan.verb == Verb::rekey,
              given_options.remove) {
    for (const KeyOptions* keys : {&given_options.keys, &given_options.to}) {
      check_passphrase_fd(given_options, *keys, given_plan.verb);
      if (given_options.keys.starts_programs() || given_options.to.starts_programs()) {
        hide_descriptors(*keys);
      }
    }
  }

  const CryptOptions& options;
  const Plan& plan;
  Distributor* const distributor;
  KnownSecrets known;
  MessageFactory messages;
  MessageFactory new_messages;  // of rekey
  TreeRoots roots;
  ProtectedFiles files;
  Leftovers leftovers;
  // These messages are printed once per run.
  std::once_flag what_runs;
  std::once_flag fallback;
  std::once_flag kept_keys;
  std::once_flag unknown_origin;

 private:
  [[nodiscard]] static std::vector<SecretFile> secret_files(const CryptOptions& options) {
    std::vector<SecretFile> files = cli::secret_files(options.keys);
    for (SecretFile& file : cli::secret_files(options.to)) files.push_back(std::move(file));
    return files;
  }
};

}  // namespace paraes::cli
