// A file that is being encrypted, decrypted or verified: its input, its output and its times.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "cli/files/output.hpp"
#include "cli/run/report.hpp"
#include "cli/run/run_context.hpp"
#include "cli/streams/input.hpp"
#include "cli/terminal/clock.hpp"

namespace paraes::cli {

// Called with the number of bytes done since the last call, by one thread at a time.
using FileProgress = std::function<void(std::uint64_t)>;

class OpenFile {
 public:
  // Opens the input and chooses the destination of the output. Keeps references to its arguments.
  // Throws IoError, and InvalidArgument for an input or output that is refused.
  OpenFile(RunContext& run, const FileJob& job, const FileProgress& progress, FileOutcome& outcome);

  [[nodiscard]] RunContext& run() const noexcept { return run_; }
  [[nodiscard]] const FileJob& job() const noexcept { return job_; }
  [[nodiscard]] FileOutcome& outcome() const noexcept { return outcome_; }
  [[nodiscard]] Input& input() noexcept { return input_; }
  // The input, if it can be read at any offset.
  [[nodiscard]] const PositionalSource* positional() const;

  // Makes a new message, or opens the one in the input. The first call of a run prints what runs.
  [[nodiscard]] Message make_message();
  // For rekey: opens the header of the message in the input.
  [[nodiscard]] MessageFactory::OpenHeader open_header(Source& source);
  // The first call of a run prints what runs.
  void say_what_runs(const Message& message);
  // Makes the stream of an unauthenticated format. Sets `new_header` if the output begins with one.
  [[nodiscard]] std::unique_ptr<StreamTransform> make_stream(
      std::optional<SaltedHeader>& new_header);

  // Whether --update leaves the input out: see Destination. Then nothing may be opened or made.
  [[nodiscard]] bool is_up_to_date() const noexcept { return destination_.up_to_date; }

  // Whether the output replaces a file.
  [[nodiscard]] bool replaces() const noexcept { return destination_.exists; }

  // Creates the output, after make_message, make_stream or the like. `named`: see
  // FileSink::Options. Throws InvalidArgument if the input, with --rm, or what the output would
  // replace holds a secret of the run.
  Sink& open_output(bool named);
  [[nodiscard]] Sink* sink() const noexcept { return output_.get(); }
  // Paths by which other processes open the input and the output.
  [[nodiscard]] Distributor::Names names() const;

  // The options report this file's progress.
  [[nodiscard]] TransferOptions transfer_options();
  void report_progress(std::uint64_t done);
  void report_times(std::uint64_t plain_bytes, const PhaseTimes& times, const Cipher& cipher);
  // Reports data that no cipher has processed.
  void report_copy(std::uint64_t plain_bytes, const PhaseTimes& times);
  void say_empty_last_segment() const;

  // Throws IoError if the input has changed since it was opened. Call it after the last read.
  void check_input() const { input_.source->check_unchanged(); }
  // If `error` says that authentication failed and the input has changed since it was opened,
  // throws IoError instead: the file may be intact.
  void check_input_after(const Error& error) const;
  // Commits the output, which gives it its final name. Call check_input first.
  void finish();

 private:
  void check_contents() const;
  void advise_if_it_cannot_rename(const auto& work) const;
  void say_done() const;
  void say_lost_attributes() const;

  RunContext& run_;
  const FileJob& job_;
  const FileProgress& progress_;
  FileOutcome& outcome_;
  Input input_;
  FileVersion version_;
  Destination destination_;
  Clock::time_point start_;
  std::uint64_t key_expansion_ = 0;
  TemporaryName temporary_;  // outlives the output
  std::unique_ptr<Sink> output_;
};

}  // namespace paraes::cli
