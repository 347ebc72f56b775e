// The facts that the files of one run share: where they are, and which are protected.
#pragma once

#include "cli/files/place.hpp"
#include "cli/files/probe_file.hpp"
#include "cli/files/protected_files.hpp"
#include "cli/files/update.hpp"
#include "cli/plan/plan.hpp"
#include "cli/plan/secrets.hpp"
#include "paraes/known_secrets.hpp"

namespace paraes::cli {

struct FileContext {
  // Keeps a reference to the plan.
  explicit FileContext(const Plan& given_plan)
      : plan(given_plan),
        files(protected_files(given_plan), known, given_plan.replaces_files(), given_plan.removes),
        update(given_plan, probing) {}

  const Plan& plan;
  KnownSecrets known;
  TreeRoots roots;
  ProtectedFiles files;
  Leftovers leftovers;
  Probing probing{leftovers, !plan.dry_run};
  UpdateRule update;
};

}  // namespace paraes::cli
