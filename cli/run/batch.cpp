#include "cli/run/batch.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/arguments/options.hpp"
#include "cli/files/inputs.hpp"
#include "cli/files/output.hpp"
#include "cli/plan/profile.hpp"
#include "cli/plan/secrets.hpp"
#include "cli/run/ending.hpp"
#include "cli/run/file_processor.hpp"
#include "cli/run/report.hpp"
#include "cli/run/results.hpp"
#include "cli/run/run_context.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/terminal/progress.hpp"
#include "cli/words/errors.hpp"
#include "paraes/error.hpp"

namespace paraes::cli {
namespace {

// The size of a regular file; nullopt for anything else. "-" is standard input.
std::optional<std::uint64_t> size_of_file(const std::string& path) {
  struct stat status = {};
  const int found = path == "-" ? fstat(STDIN_FILENO, &status) : stat(path.c_str(), &status);
  if (found != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return static_cast<std::uint64_t>(status.st_size);
}

// A run on one file or several.
class Batch {
 public:
  Batch(const Plan& plan, Distributor* distributor)
      : plan_(plan), run_(plan, distributor), ending_(run_), results_(plan, ending_) {}

  int single() {
    const std::string& input = plan_.inputs[0];
    {
      Progress progress(plan_.reporting.bar, bytes_to_process(input));
      FileJob job;
      job.threads = plan_.execution.threads;
      job.input.shown = input;
      FileOutcome outcome;
      outcome.report = results_.new_report(input);
      std::optional<OutputTree> outputs;
      results_.attempt(outcome, [&] {
        if (input != "-") job.input = place_of_argument(run_.roots, input, "open");
        if (plan_.output.folder) {
          outputs.emplace(run_.roots, *plan_.output.path);
          job.output =
              outputs->place(default_name(plan_.direction(), file_name_of(input), "give -o FILE"));
          if (!plan_.dry_run) outputs->make_top();
        }
        files_.run_task(job, outcome);
      });
      if (outcome.transferred) progress.finish(true);
      results_.finish(job, std::move(outcome));
      if (plan_.dry_run) return results_.status();
      if (outputs) finish_folders(*outputs);
    }
    finish(nullptr);
    return results_.status();
  }

  // Throws InvalidArgument if JSON would be written to the file that a secret is read from.
  void check_streams() const {
    struct stat status = {};
    std::FILE* const stream = plan_.reporting.json_stream;
    if (!plan_.reporting.json || fstat(fileno(stream), &status) != 0) return;
    run_.files.check_named_target(status, stream == stdout ? "standard output" : "standard error",
                                  "--json");
  }

  void warn() const {
    if (!plan_.reporting.quiet) warn_of_open_files(run_.files.named());
  }

  // Finds the files that several inputs and -r name. Writes nothing.
  [[nodiscard]] FoundFiles find() { return find_inputs(run_); }

  // Throws InvalidArgument if the run would remove or replace a file that holds one of its secrets.
  // Reads these secrets for it, and so leaves it out of a dry run.
  void check_contents(const FoundFiles& found) {
    if (plan_.dry_run || !run_.files.changes_files() || found.waiting == 0 ||
        plan_.verb == Verb::verify)
      return;
    run_.messages.load_secrets();
    if (plan_.verb == Verb::rekey) run_.new_messages.load_secrets();
    for (const FoundFile& file : found.files) {
      if (file.state != FileState::waiting || !file.regular) continue;
      const bool fits = run_.known.may_be_in(file.bytes);
      if (fits && plan_.removes) {
        run_.files.check_input_contents(found.files.place(file), found.files.found_as(file));
      }
      // rekey replaces its inputs.
      if (file.may_replace_secret || (fits && plan_.verb == Verb::rekey)) {
        run_.files.check_target_contents(found.output(file).value_or(found.files.place(file)),
                                         found.files.shown(file), found.files.found_as(file));
      }
    }
  }

  int several(FoundFiles found) {
    results_.say_left_out(found);
    if (!found.any()) {
      say(nothing_found_text(plan_, found));
      RunSummary nothing = results_.summary(found);
      nothing.exit = exit_usage;
      return results_.end(nothing);
    }
    for (const FoundFiles::Refused& refused : found.refused) {
      results_.refuse(refused.input, refused.reason, refused.exit);
    }
    if (plan_.dry_run) {
      foresee_all(found);
    } else {
      process_all(found);
    }
    const RunSummary summary = results_.summary(found);
    if (!plan_.reporting.quiet) say(summary_text(plan_, summary, found));
    return results_.end(summary);
  }

 private:
  void process_all(FoundFiles& found) {
    if (found.outputs) {
      for (const auto& [folder, why] : found.outputs->make()) {
        results_.refuse(folder, why, exit_failed);
      }
    }
    {
      Progress progress(plan_.reporting.bar, bytes_to_process(found));
      files_.process_all(found);
      progress.finish(!results_.any_failed());
    }
    if (found.outputs) finish_folders(*found.outputs);
    finish(&found);
  }

  void foresee_all(FoundFiles& found) {
    for (const FoundFile& file : found.files) {
      if (file.state != FileState::waiting && file.state != FileState::repeated) continue;
      const FileJob job = found.job(file);
      FileOutcome outcome;
      outcome.report = results_.new_report(job.input.shown);
      results_.attempt(outcome, [&] {
        if (job.output && found.outputs && found.outputs->is_folder(*job.output)) {
          refuse_folder(job.output->shown);  // the run would make it first
        }
        files_.run_task(job, outcome);
      });
      results_.finish(job, std::move(outcome));
    }
  }

  // How much of a file there is to process, if that is known.
  [[nodiscard]] std::optional<std::uint64_t> bytes_to_process(const std::string& input) const {
    std::optional<std::uint64_t> bytes = size_of_file(input);
    if (bytes) *bytes = plan_.plain_bytes(*bytes);
    if (bytes) *bytes -= std::min(*bytes, plan_.offset.value_or(0));
    if (bytes && plan_.length) *bytes = std::min(*bytes, *plan_.length);
    return bytes;
  }

  [[nodiscard]] std::uint64_t bytes_to_process(const FoundFiles& found) const {
    std::uint64_t bytes = 0;
    for (const FoundFile& file : found.files) {
      if (file.state == FileState::waiting) bytes += plan_.plain_bytes(file.bytes);
    }
    return bytes;
  }

  void finish_folders(OutputTree& outputs) {
    fail(ending_.finish_folders(outputs, results_.any_failed() && !results_.has_outputs()));
  }

  void finish(const FoundFiles* found) {
    fail(ending_.sync_folders());
    fail(ending_.remove_sources(found));
  }

  void fail(const std::vector<std::string>& errors) {
    for (const std::string& error : errors) results_.fail_at_end(error);
  }

  const Plan& plan_;
  RunContext run_;
  Ending ending_;
  Results results_;
  FileProcessor files_{run_, results_};
};

}  // namespace

int refuse_run(const Reporting& reporting, const std::exception& error) {
  RunReport report;
  report.input = reporting.input;
  report.format = reporting.format;
  report.status = error_text(error);
  report.exit = say_error(error);
  if (reporting.json && report.exit != exit_closed_pipe) {
    print_line(reporting.json_stream, to_json(report));
    if (reporting.several) {
      const RunSummary summary = {.failed = 1, .exit = report.exit};
      print_line(reporting.json_stream, to_json(summary));
    }
  }
  return report.exit;
}

void begin_run() {
  Progress::listen();
  remember_umask();
}

int run_batch(Plan plan, Distributor* distributor) {
  std::optional<Batch> batch;
  FoundFiles found;
  try {
    batch.emplace(plan, distributor);
    try {
      batch->check_streams();
    } catch (const InvalidArgument& error) {
      return say_error(error);  // not as JSON, which would go to the file of the secret
    }
    batch->warn();
    if (plan.several) {
      found = batch->find();
      batch->check_contents(found);
    }
    const auto bytes = plan.several ? std::optional(found.bytes) : size_of_file(plan.inputs[0]);
    if (bytes && !plan.dry_run) use_profile(*bytes, plan);
    if (found.outputs && !plan.dry_run && found.any() &&
        (found.waiting != 0 || found.outputs->mirrors())) {
      found.outputs->make_top();
    }
  } catch (const std::exception& error) {
    return refuse_run(plan.reporting, error);
  }
  return plan.several ? batch->several(std::move(found)) : batch->single();
}

}  // namespace paraes::cli
