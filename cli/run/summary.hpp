// The texts at the end of a run with several inputs.
#pragma once

#include <string>

#include "cli/arguments/options.hpp"
#include "cli/files/inputs.hpp"
#include "cli/plan/plan.hpp"
#include "cli/run/report.hpp"

namespace paraes::cli {

// "3 files encrypted, 1.2 MB in 0.10 s; skipped 1 symbolic link" and the like.
[[nodiscard]] std::string summary_text(Verb verb, const RunSummary& summary, const Found& found);

// The error of a run that found nothing: what it looked for, and what it skipped.
[[nodiscard]] std::string nothing_found_text(const Plan& plan, const Found& found);

}  // namespace paraes::cli
