// A file by itself, of any size and format, from where it is open to its result.
#pragma once

#include "cli/open_file.hpp"

namespace paraes::cli {

class FileTask {
 public:
  // All of these outlive it.
  FileTask(RunContext& run, const FileJob& job, OpenFile& file, FileOutcome& outcome)
      : run_(run), plan_(run.plan), job_(job), file_(file), outcome_(outcome) {}

  // Throws what goes wrong; the outcome then says as much as was known. A message goes through the
  // run's distributor if it has one.
  void run();

 private:
  void transfer();
  void transfer_message();
  void open_message(const Message& message, OpenOptions options);
  void transfer_stream();
  [[nodiscard]] Distributor* distributor() const;
  Sink& open_output();

  RunContext& run_;
  const Plan& plan_;
  const FileJob& job_;
  OpenFile& file_;
  FileOutcome& outcome_;
};

}  // namespace paraes::cli
