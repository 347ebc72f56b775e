#include "cli/run/dry_run.hpp"

#include <cstdio>
#include <string>

#include "cli/run/report.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/words/errors.hpp"

namespace paraes::cli {
namespace {

std::string text_of(const Plan& plan, const RunReport& report) {
  const std::string input = input_name(report.input);
  std::string text = "reads " + input;
  if (plan.verb == Verb::rekey) return text + ", replaces it";
  if (!report.output) return text;
  text += report.replaces.value_or(false) ? ", replaces " : ", writes ";
  text += output_name(*report.output);
  return plan.removes ? text + ", removes " + input : text;
}

}  // namespace

void foresee(OpenFile& file) {
  const Plan& plan = file.run().plan;
  RunReport& report = file.outcome().report;
  report.status = file.is_up_to_date() ? up_to_date_status : dry_run_status;
  if (file.is_up_to_date()) return;
  if (const auto left = file.input().source->remaining()) report.bytes = plan.plain_bytes(*left);
  // A profile, and what is in the file, may choose others.
  report.device = report.kernel = std::nullopt;
  if (plan.verb != Verb::verify) report.replaces = file.replaces();
  if (!plan.reporting.json && !plan.reporting.quiet)
    print_line(stdout, printable(text_of(plan, report)));
}

}  // namespace paraes::cli
