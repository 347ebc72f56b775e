// A small file among others whose messages go through seal_messages or open_messages together: read
// before that, written after it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cli/open_file.hpp"

namespace paraes::cli {

class SmallFileTask {
 public:
  // The largest file that is taken.
  static constexpr std::uint64_t most_bytes = std::uint64_t{256} << 10;

  // All of these outlive it. What goes wrong is thrown here, and by read and write.
  SmallFileTask(RunContext& run, const FileJob& job, const FileProgress& progress,
                FileOutcome& outcome)
      : run_(run), job_(job), outcome_(outcome), file_(run, job, progress, outcome) {}

  // Reads the file and closes it: so many may be under way that there are not enough descriptors
  // for all. False: it has become another kind of file since it was found, and is done already, by
  // itself.
  [[nodiscard]] bool read();
  [[nodiscard]] WholeMessage message();
  // Throws the error of what became of message(), or writes it.
  void write(const WholeMessage& done);

 private:
  RunContext& run_;
  const FileJob& job_;
  FileOutcome& outcome_;
  OpenFile file_;
  std::optional<Message> message_;
  std::vector<std::uint8_t> in_;
  std::vector<std::uint8_t> out_;
  std::uint64_t plain_bytes_ = 0;
  bool empty_last_ = false;
  PhaseTimes times_;
};

}  // namespace paraes::cli
