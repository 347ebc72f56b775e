// The results of a run: reports each file when it has ended, and counts them.
#pragma once

#include <cstdint>
#include <exception>
#include <mutex>
#include <string>

#include "cli/files/file_list.hpp"
#include "cli/files/inputs.hpp"
#include "cli/plan/plan.hpp"
#include "cli/run/ending.hpp"
#include "cli/run/report.hpp"
#include "cli/terminal/clock.hpp"
#include "cli/terminal/progress.hpp"
#include "cli/words/errors.hpp"

namespace paraes::cli {

// Files may end in any order, on several threads.
class Results {
 public:
  // Keeps references to its arguments. `ending`: gets the outputs.
  Results(const Plan& plan, Ending& ending) : plan_(plan), ending_(ending) {}

  [[nodiscard]] RunReport new_report(const std::string& input) const;

  // Calls `work` and reports what it throws as an error of this file.
  void attempt(FileOutcome& outcome, const auto& work) {
    const Progress::Work progress;
    try {
      work();
    } catch (const std::exception& error) {
      const std::lock_guard lock(mutex_);
      fail(outcome.report, error_text(error), exit_status(error));
    }
  }
  // Reports a file that has ended, with or without an error.
  void finish(const FileJob& job, FileOutcome outcome);

  // The rest is for one thread.

  // Reports an input that cannot be processed.
  void refuse(const std::string& input, const std::string& why, int exit);
  // Reports an input that is not processed, and why.
  void report_skipped(const std::string& input, const std::string& why);
  // Reports the inputs of a run that are left out.
  void say_left_out(const FoundFiles& found);
  // Reports an error after the files have ended.
  void fail_at_end(const std::string& text);

  [[nodiscard]] bool any_failed() const noexcept { return counts_.failed != 0; }
  // Whether outputs exist that this run made, or would have made.
  [[nodiscard]] bool has_outputs() const noexcept {
    return some_committed_ || counts_.up_to_date != 0;
  }
  // The exit status of a run on one file.
  [[nodiscard]] int status() const noexcept { return status_; }
  // Sums up a run on several files.
  [[nodiscard]] RunSummary summary(const FoundFiles& found) const;
  // Prints the last line of --json. Returns the exit status.
  int end(const RunSummary& summary);

 private:
  void fail(RunReport& report, const std::string& text, int exit);
  void report_up_to_date(const std::string& input, const std::string& output);
  [[nodiscard]] bool wants_json(const RunReport& report) const;
  void print(const RunReport& report);
  void print_json(const std::string& object);

  const Plan& plan_;
  Ending& ending_;
  const Clock::time_point start_ = Clock::now();
  std::mutex mutex_;
  RunSummary counts_;  // so far
  bool some_committed_ = false;
  int status_ = exit_done;
};

// "3 files encrypted, 1.2 MB in 0.10 s; skipped 1 symbolic link" and the like.
[[nodiscard]] std::string summary_text(const Plan& plan, const RunSummary& summary,
                                       const FoundFiles& found);

// The error of a run that found nothing: what it looked for, and what it skipped.
[[nodiscard]] std::string nothing_found_text(const Plan& plan, const FoundFiles& found);

}  // namespace paraes::cli
