// One of several small files, which is in memory as a whole: read in one call, and written in one.
// On a GPU the messages of many go through seal_messages or open_messages together.
#pragma once

#include <cstdint>
#include <optional>

#include "cli/run/open_file.hpp"
#include "paraes/io.hpp"
#include "paraes/messages.hpp"

namespace paraes::cli {

class SmallFileTask {
 public:
  // The largest file that counts as small.
  static constexpr std::uint64_t most_bytes = std::uint64_t{256} << 10;

  // Memory for a file and its output, for one task after another. It is not cleared in between.
  class Buffers {
   public:
    [[nodiscard]] MutableBytes in(std::size_t bytes) { return grow(in_, bytes); }
    [[nodiscard]] MutableBytes out(std::size_t bytes) { return grow(out_, bytes); }

   private:
    static MutableBytes grow(std::optional<IoBuffer>& buffer, std::size_t bytes);
    std::optional<IoBuffer> in_;
    std::optional<IoBuffer> out_;
  };

  // Keeps references to its arguments. `buffers` are for no other task meanwhile. The constructor
  // and all functions throw Error.
  SmallFileTask(RunContext& run, const FileJob& job, const FileProgress& progress,
                FileOutcome& outcome, Buffers& buffers)
      : buffers_(buffers), file_(run, job, progress, outcome) {}

  // Reads the file and closes it, because there are fewer descriptors than files in memory. If the
  // file is no longer small and regular, or up to date, does all there is to do and returns false.
  [[nodiscard]] bool read();
  // The message for seal_messages or open_messages.
  [[nodiscard]] WholeMessage message();
  // Writes the result of message(), or throws its error.
  void write(const WholeMessage& done);

  // All of it for this file alone, on the CPU.
  void run();

 private:
  Buffers& buffers_;
  OpenFile file_;
  std::optional<Message> message_;
  MutableBytes in_;
  MutableBytes out_;
  std::uint64_t plain_bytes_ = 0;
  bool empty_last_ = false;
  PhaseTimes times_;
};

}  // namespace paraes::cli
