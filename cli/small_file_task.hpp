// One of several small files whose messages go through seal_messages or open_messages together. It
// is read before that, and written after it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cli/open_file.hpp"

namespace paraes::cli {

class SmallFileTask {
 public:
  // The largest file that counts as small.
  static constexpr std::uint64_t most_bytes = std::uint64_t{256} << 10;

  // Keeps references to its arguments. The constructor, read and write throw Error.
  SmallFileTask(RunContext& run, const FileJob& job, const FileProgress& progress,
                FileOutcome& outcome)
      : run_(run), job_(job), outcome_(outcome), file_(run, job, progress, outcome) {}

  // Reads the file and closes it, because there are fewer descriptors than files in memory. Returns
  // false if the file is no longer small and regular, or up to date: then there is no more to do.
  [[nodiscard]] bool read();
  [[nodiscard]] WholeMessage message();
  // Writes the result of message(), or throws its error.
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
