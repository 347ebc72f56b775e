// One file, encrypted, decrypted or verified.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "key_ring.hpp"
#include "report.hpp"
#include "transport.hpp"

namespace paraes::cli {

struct FileJob {
  std::string input;
  OutputOptions output;     // of this file
  bool sync_folder = true;  // see FileSink::Options
  int threads = 0;          // see TransferOptions
  bool alone = false;       // not through the transport: one of many small files
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
  // `transport`: see run_batch.
  Run(const CryptOptions& options, const Plan& plan, Transport* transport)
      : options_(options), plan_(plan), transport_(transport), ring_(options, plan) {}

  // Throws what goes wrong; the outcome then says as much as was known. `progress` is told how many
  // more bytes of the input are done, by one thread at a time.
  void file(const FileJob& job, const std::function<void(std::uint64_t)>& progress,
            FileOutcome& outcome);

  class Small;

 private:
  class Steps;

  const CryptOptions& options_;
  const Plan& plan_;
  Transport* transport_;
  KeyRing ring_;
  std::once_flag notes_;
  std::once_flag fallback_note_;
};

// A small file among others whose messages go through seal_messages or open_messages together: read
// before that, written after it. What goes wrong is thrown as by Run::file.
class Run::Small {
 public:
  // What such a file has at most.
  static constexpr std::uint64_t most_bytes = std::uint64_t{256} << 10;

  // All of these outlive it.
  Small(Run& run, const FileJob& job, const std::function<void(std::uint64_t)>& progress,
        FileOutcome& outcome);
  ~Small();
  Small(const Small&) = delete;
  Small& operator=(const Small&) = delete;

  // False: it has become another kind of file since it was found, and is done already, by itself.
  [[nodiscard]] bool read();
  [[nodiscard]] WholeMessage message();
  // Throws the error of what became of message(), or writes it.
  void write(const WholeMessage& done);

 private:
  std::unique_ptr<Steps> steps_;
};

}  // namespace paraes::cli
