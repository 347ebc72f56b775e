#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>

#include "cli/run/file_task.hpp"
#include "cli/run/report.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/words/errors.hpp"
#include "paraes/error.hpp"

namespace paraes::cli {
namespace {

// Throws what making the output would throw, if the user may not write in its folder.
void check_folder(const FileJob& job, const Plan& plan) {
  const Place* const place = plan.verb == Verb::rekey ? &job.input
                             : job.output             ? &*job.output
                                                      : nullptr;
  if (place == nullptr || !place->root) return;
  try {
    const auto folder = place->open_folder();
    if (faccessat(folder->descriptor(), ".", W_OK | X_OK, AT_EACCESS) != 0 && errno == EACCES) {
      throw io_error(place->shown, "create", EACCES);
    }
  } catch (const IoError& error) {
    if (error.code() != ENOENT) throw;  // it would be made
  }
}

// --rm removes no links.
bool is_link(const Place& place) {
  if (!place.root) return false;
  const auto status = status_in(*place.open_folder(), place.name(), false);
  return status && S_ISLNK(status->st_mode);
}

std::string text_of(const Plan& plan, const RunReport& report, bool keeps_link) {
  const std::string input = input_name(report.input);
  std::string text = "reads " + input;
  if (plan.verb == Verb::rekey) return text + ", replaces it";
  if (!report.output) return text;
  text += report.replaces.value_or(false) ? ", replaces " : ", writes ";
  text += output_name(*report.output);
  if (!plan.removes) return text;
  return text + (keeps_link ? ", cannot remove " : ", removes ") + input +
         (keeps_link ? " because it is a symbolic link" : "");
}

}  // namespace

void foresee(OpenFile& file) {
  const Plan& plan = file.run().plan;
  RunReport& report = file.outcome().report;
  report.status = file.is_up_to_date() ? up_to_date_status : dry_run_status;
  if (file.is_up_to_date()) return;
  check_folder(file.job(), plan);
  if (const auto left = file.input().source->remaining()) report.bytes = plan.plain_bytes(*left);
  // A profile, and what is in the file, may choose others.
  report.device = report.kernel = std::nullopt;
  if (plan.verb != Verb::verify) report.replaces = file.replaces();
  if (!plan.reporting.json && !plan.reporting.quiet)
    print_line(stdout, printable(text_of(plan, report, is_link(file.job().input))));
}

}  // namespace paraes::cli
