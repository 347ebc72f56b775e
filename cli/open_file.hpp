// A file that is being encrypted, decrypted or verified: its input, its output, and its clock.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "cli/clock.hpp"
#include "cli/file_job.hpp"
#include "cli/input.hpp"
#include "cli/output.hpp"
#include "cli/run_context.hpp"

namespace paraes::cli {

// Is told how many more bytes of the input are done, by one thread at a time.
using FileProgress = std::function<void(std::uint64_t)>;

class OpenFile {
 public:
  // Opens the input and decides where the output goes, and refuses what must not happen; all of the
  // arguments outlive it. Throws InvalidArgument and IoError.
  OpenFile(RunContext& run, const FileJob& job, const FileProgress& progress, FileOutcome& outcome);

  [[nodiscard]] Input& input() noexcept { return input_; }
  // The input, if it can be read at any offset.
  [[nodiscard]] const PositionalSource* positional() const;

  // A new message, or that of the input. The first of a run says what runs.
  [[nodiscard]] Message make_message();
  // The cipher of an unauthenticated format. `new_header` is set if the output begins with one.
  [[nodiscard]] std::unique_ptr<StreamTransform> make_stream(
      std::optional<SaltedHeader>& new_header);

  // Until then nothing of the output exists. `named`: see FileSink::Options.
  Sink& open_output(bool named);
  [[nodiscard]] Sink* sink() const noexcept { return output_.get(); }
  // Names by which other processes find input and output.
  [[nodiscard]] Distributor::Names names() const;

  void report_progress(std::uint64_t done);
  void report_bytes(std::uint64_t plain_bytes) { outcome_.report.bytes = plain_bytes; }
  void report_times(const PhaseTimes& times, const Cipher& cipher);
  void say_empty_last_segment() const;

  // Throws IoError if the input is not what it was when it was opened. For after the last read.
  void check_input() const { input_.source->check_unchanged(); }
  // For use in a catch block: a file that is written to while it is read fails authentication
  // without being damaged, and IoError says so.
  void check_input_after_error() const;
  // Ends a file that went well: the output gets its name. The input was checked.
  void finish();

 private:
  void say_done() const;

  RunContext& run_;
  const FileJob& job_;
  const FileProgress& progress_;
  FileOutcome& outcome_;
  Input input_;
  FileVersion version_;
  Destination destination_;
  Clock::time_point start_;
  std::uint64_t key_expansion_ = 0;
  std::uint64_t reported_ = 0;
  TemporaryName temporary_;  // outlives the output
  std::unique_ptr<Sink> output_;
};

}  // namespace paraes::cli
