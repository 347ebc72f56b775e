// Transfers one open file of any size and format, and reports the outcome.
#pragma once

#include <optional>
#include <vector>

#include "cli/plan/plan.hpp"
#include "cli/run/open_file.hpp"

namespace paraes::cli {

class FileTask {
 public:
  // Keeps references to its arguments.
  FileTask(RunContext& run, const FileJob& job, OpenFile& file, FileOutcome& outcome)
      : run_(run), plan_(run.plan), job_(job), file_(file), outcome_(outcome) {}

  // Throws Error; `outcome` then holds what was known until then. A message in an authenticated
  // format goes through the run's distributor, if there is one and the job allows it.
  void run();

 private:
  void transfer();
  void transfer_message();
  void open_message(const Message& message, OpenOptions options);
  void transfer_stream();
  void report_bad(const std::vector<BadRange>& bad);
  [[nodiscard]] Distributor* distributor() const;
  Sink& open_output();

  RunContext& run_;
  const Plan& plan_;
  const FileJob& job_;
  OpenFile& file_;
  FileOutcome& outcome_;
  std::optional<std::vector<BadRange>> bad_;  // of --salvage, until the output is committed
};

}  // namespace paraes::cli
