// Gives one file to other keys, passphrases or recipients, in place.
#pragma once

#include <mutex>
#include <utility>
#include <vector>

#include "cli/run/open_file.hpp"

namespace paraes::cli {

class RekeyTask {
 public:
  // Keeps references to its arguments.
  RekeyTask(RunContext& run, const FileJob& job, OpenFile& file, FileOutcome& outcome)
      : run_(run), job_(job), file_(file), outcome_(outcome) {}

  // Throws Error; the file is then as it was.
  void run();

 private:
  void transfer(FileSource& source);
  void give_to_recipients(FileSource& source, MessageFactory::OpenHeader old);
  void seal_again(FileSource& source, MessageFactory::OpenHeader old);
  [[nodiscard]] TransferOptions transfer_options();
  void add_notes();

  RunContext& run_;
  const FileJob& job_;
  OpenFile& file_;
  FileOutcome& outcome_;
  // To be reported once the file has been replaced.
  const char* what_ = "";
  std::vector<std::pair<std::once_flag*, const char*>> notes_;
};

}  // namespace paraes::cli
