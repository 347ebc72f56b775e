#include "cli/run/results.hpp"

#include <fmt/format.h>

#include <chrono>

#include "cli/terminal/messages.hpp"
#include "cli/words/choices.hpp"
#include "cli/words/sizes.hpp"
#include "cli/words/spelling.hpp"

namespace paraes::cli {
namespace {

// Returns a text with at most three of the names.
std::string some_of(std::vector<std::string> names) {
  constexpr std::size_t most = 3;
  if (names.size() > most) {
    const std::size_t more = names.size() - most;
    names.resize(most);
    names.push_back(fmt::format("{} more", more));
  }
  return listed(names, "and");
}

std::string count(std::uint64_t number, const char* one, const char* many) {
  return fmt::format("{} {}", number, number == 1 ? one : many);
}

std::string skipped_text(Verb verb, const FoundFiles& found) {
  const std::string list = found.skipped.text(verb);
  return list.empty() ? "" : "; skipped " + list;
}

}  // namespace

RunReport Results::new_report(const std::string& input) const {
  RunReport report;
  report.input = input;
  report.format = format_name(plan_.format);
  report.device = plan_.on_gpu ? plan_.execution.device : "cpu";
  report.kernel = std::string(plan_.kernel.name);
  return report;
}

void Results::finish(const FileJob& job, FileOutcome outcome) {
  const RunReport& report = outcome.report;
  // Takes longer than all that needs the lock.
  const std::string json = wants_json(report) ? to_json(report) : "";
  const std::lock_guard lock(mutex_);
  if (job.found != nullptr) {
    // A file that failed or was left out has nothing left to do, and a file may have grown.
    Progress::change_total(static_cast<std::int64_t>(outcome.processed) -
                           static_cast<std::int64_t>(plan_.plain_bytes(job.found->bytes)));
  }
  if (report.status == up_to_date_status) {
    report_up_to_date(report.input, *report.output);
    return;
  }
  for (const std::string& text : outcome.messages) say(text);
  if (!json.empty()) print_json(json);
  some_committed_ = some_committed_ || outcome.committed;
  if (outcome.committed) ending_.add_output(outcome.committed->output);
  if (report.exit == exit_done) {
    ++counts_.files;
    counts_.bytes += report.bytes;
    if (plan_.removes && outcome.committed) ending_.remove_later(job, *outcome.committed);
  } else if (report.bad_ranges) {
    ++counts_.salvaged;
    status_ = report.exit;  // --salvage found damage, and has reported it
  }
}

void Results::refuse(const std::string& input, const std::string& why, int exit) {
  RunReport report = new_report(input);
  fail(report, why, exit);
  print(report);
}

void Results::report_skipped(const std::string& input, const std::string& why) {
  if (plan_.reporting.verbose) say("{}: skipped: {}", input, why);
  RunReport report;
  report.input = input;
  report.status = skipped_status;
  report.reason = why;
  print(report);
}

void Results::say_left_out(const FoundFiles& found) {
  for (const SkippedEntries::Entry& entry : found.skipped.entries()) {
    const std::string why = reason_of(entry.why, plan_.verb);
    report_skipped(found.files.shown({.name = entry.name, .folder = entry.folder}), why);
  }
  for (std::size_t i = 0; i < found.files.size() && found.up_to_date != 0; ++i) {
    const FoundFile& file = found.files[i];
    if (file.state != FileState::up_to_date) continue;
    report_up_to_date(found.files.shown(file), found.output(file)->shown);
  }
}

void Results::report_up_to_date(const std::string& input, const std::string& output) {
  ++counts_.up_to_date;
  if (!plan_.reporting.quiet && (!plan_.several || plan_.reporting.verbose)) {
    say("{}: {} is up to date", input, output);
  }
  RunReport report;
  report.input = input;
  report.output = output;
  report.status = up_to_date_status;
  print(report);
}

// Call it with mutex_ held, or before threads are started.
void Results::fail(RunReport& report, const std::string& text, int exit) {
  report.exit = exit;
  const std::string name = input_name(report.input) + ": ";
  report.status = text.starts_with(name) ? text.substr(name.size()) : text;
  ++counts_.failed;
  if (!plan_.several) status_ = exit;
  if (exit == exit_closed_pipe) return;
  say(with_name(text, {input_name(report.input), output_name(report.output.value_or(""))}));
}

void Results::fail_at_end(const std::string& text) {
  ++counts_.failed;
  if (!plan_.several) status_ = exit_failed;
  say(text);
}

bool Results::wants_json(const RunReport& report) const {
  return plan_.reporting.json && report.exit != exit_closed_pipe;
}

void Results::print(const RunReport& report) {
  if (wants_json(report)) print_json(to_json(report));
}

void Results::print_json(const std::string& object) try {
  print_line(plan_.reporting.json_stream, object);
} catch (const IoError& error) {
  fail_at_end(error.what());
}

RunSummary Results::summary(const FoundFiles& found) const {
  RunSummary summary = counts_;
  summary.skipped = found.skipped.total();
  summary.seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  if (any_failed() || status_ != exit_done) summary.exit = exit_some_failed;
  return summary;
}

std::string summary_text(const Plan& plan, const RunSummary& summary, const FoundFiles& found) {
  const Verb verb = plan.verb;
  const char* done = verb == Verb::encrypt   ? "encrypted"
                     : verb == Verb::decrypt ? "decrypted"
                     : verb == Verb::rekey   ? "rekeyed"
                                             : "intact";
  const std::string fresh = count(summary.up_to_date, "file is up to date", "files are up to date");
  const bool nothing_done = summary.files == 0 && summary.failed == 0 && summary.salvaged == 0;
  std::string text;
  if (nothing_done && summary.up_to_date != 0) {
    text = "nothing new: " + fresh;
  } else if (nothing_done && found.waiting == 0) {
    text = "no files, only " + count(found.folders, "folder", "folders");
  } else {
    const std::string files = count(summary.files, "file", "files");
    text = plan.dry_run ? fmt::format("dry run: {} to {}, {}", files, verb_name(verb),
                                      format_amount(summary.bytes))
                        : fmt::format("{} {}, {} in {:.2f} s", files, done,
                                      format_amount(summary.bytes), summary.seconds);
    if (summary.up_to_date != 0) text += "; " + fresh;
  }
  if (summary.salvaged != 0) {
    text +=
        "; " + count(summary.salvaged, "file salvaged with losses", "files salvaged with losses");
  }
  if (summary.failed != 0) text += fmt::format("; {} failed", summary.failed);
  text += skipped_text(verb, found);
  if (!found.without_any.empty()) text += "; nothing found in " + some_of(found.without_any);
  return text;
}

std::string nothing_found_text(const Plan& plan, const FoundFiles& found) {
  std::string text = fmt::format("{}: nothing to {}", some_of(plan.inputs), verb_name(plan.verb));
  if (plan.recursive) {
    text += fmt::format("; looked for {}",
                        plan.verb == Verb::encrypt ? "files that are not *.paes" : "*.paes files");
  }
  return text + skipped_text(plan.verb, found);
}

int Results::end(const RunSummary& summary) {
  if (plan_.reporting.json) print_json(to_json(summary));
  return counts_.failed == summary.failed ? summary.exit : exit_some_failed;
}

}  // namespace paraes::cli
