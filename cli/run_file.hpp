// One file, encrypted, decrypted or verified.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "key_ring.hpp"
#include "report.hpp"

namespace paraes::cli {

struct FileJob {
  std::string input;
  OutputOptions output;     // of this file
  bool sync_folder = true;  // see FileSink::Options
  int threads = 0;          // see TransferOptions
};

struct FileOutcome {
  RunReport report;
  std::string target;  // the file that was written; empty: none
  dev_t device = 0;    // of the input, to be sure that a file to be removed is this one
  ino_t inode = 0;
};

// What all files of a run share.
class Run {
 public:
  Run(const CryptOptions& options, const Plan& plan)
      : options_(options), plan_(plan), ring_(options, plan) {}

  // Throws what goes wrong; the outcome then says as much as was known. `progress` is told how many
  // more bytes of the input are done, by one thread at a time.
  void file(const FileJob& job, const std::function<void(std::uint64_t)>& progress,
            FileOutcome& outcome);

 private:
  class Steps;

  const CryptOptions& options_;
  const Plan& plan_;
  KeyRing ring_;
  std::once_flag notes_;
};

}  // namespace paraes::cli
