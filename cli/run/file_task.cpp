#include "cli/run/file_task.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <string>
#include <vector>

#include "cli/arguments/options.hpp"
#include "cli/run/report.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/words/choices.hpp"
#include "cli/words/errors.hpp"
#include "paraes/error.hpp"

namespace paraes::cli {
namespace {

// Names the ranges that were written as zeros, and the end, after which nothing was written.
// `plain_bytes`: as far as the length of the input tells.
std::string loss_text(const std::vector<BadRange>& ranges, std::uint64_t plain_bytes) {
  std::string zeros;
  std::string end;
  for (const BadRange& range : ranges) {
    if (range.bytes == 0) {
      end = fmt::format("the end, from byte {} on, is missing or damaged", range.offset);
      continue;
    }
    zeros += fmt::format("{}{} byte{} at {}", zeros.empty() ? "" : ", ", range.bytes,
                         range.bytes == 1 ? "" : "s", range.offset);
  }
  if (!zeros.empty()) zeros = "written as zeros: " + zeros;
  // Whether the input was cut within its last segment cannot be told from damage.
  const BadRange& last = ranges.back();
  if (last.bytes != 0 && last.offset + last.bytes == plain_bytes) {
    zeros += " (more may be missing after it)";
  }
  return fmt::format("not intact; {}{}{}", zeros, zeros.empty() || end.empty() ? "" : "; ", end);
}

// Call this when the output is committed: until then, nothing may have been written.
void report_bad(const OpenFile& file, const std::vector<BadRange>& bad) {
  RunReport& report = file.outcome().report;
  report.bad_ranges = bad;
  if (bad.empty()) return;
  report.exit = exit_some_failed;
  report.status = loss_text(bad, report.bytes);
  file.outcome().messages.push_back(with_name(report.status, {input_name(file.job().input.shown)}));
}

// Null if this process transfers the file alone.
Distributor* distributor_of(const OpenFile& file) {
  const RunContext& run = file.run();
  return file.job().alone || !is_authenticated(run.plan.format) ? nullptr : run.distributor;
}

Sink& open_output(OpenFile& file) {
  const Distributor* const distributor = distributor_of(file);
  return file.open_output(distributor != nullptr && distributor->names_files());
}

void seal_data(OpenFile& file, const Message& message) {
  Source& source = *file.input().source;
  // Refuse an impossible length before the output exists.
  if (const auto left = source.remaining()) {
    static_cast<void>(message.layout().segments_of(*left));
  }
  Sink& sink = open_output(file);
  const TransferOptions options = file.transfer_options();
  Distributor* const distributor = distributor_of(file);
  const TransferResult result =
      distributor != nullptr ? distributor->seal(source, message, sink, options, file.names())
                             : seal_message(source, message, sink, options);
  file.report_times(result.plain_bytes, result.times, message.cipher());
}

// `bad`: gets what is not intact, with --salvage.
void open_data(OpenFile& file, const Message& message, std::vector<BadRange>& bad) {
  const Plan& plan = file.run().plan;
  OpenOptions options;
  static_cast<TransferOptions&>(options) = file.transfer_options();
  options.offset = plan.offset.value_or(0);
  options.length = plan.length;
  if (plan.salvage) {
    options.salvage = &bad;
  } else if (const PositionalSource* positional = file.positional(); positional != nullptr) {
    static_cast<void>(message.layout().extent_of(positional->size()));
  }
  if (plan.verb != Verb::verify) open_output(file);
  Source& source = *file.input().source;
  Distributor* const distributor = distributor_of(file);
  const OpenResult result =
      distributor != nullptr
          ? distributor->open(source, message, file.sink(), options, file.names())
          : open_message(source, message, file.sink(), options);
  file.report_times(result.plain_bytes, result.times, message.cipher());
  if (result.empty_last) file.say_empty_last_segment();
}

void transfer_stream(OpenFile& file) {
  const Plan& plan = file.run().plan;
  std::optional<SaltedHeader> new_header;
  const std::unique_ptr<StreamTransform> stream = file.make_stream(new_header);
  Source& source = *file.input().source;
  if (const auto left = source.remaining()) stream->check_length(*left);
  Sink& sink = open_output(file);
  if (new_header) sink.write(new_header->encode());
  const TransferOptions options = file.transfer_options();
  const CopyResult result = copy_stream(source, *stream, sink, options.progress, options.overlap);
  file.report_times(plan.verb == Verb::encrypt ? result.bytes_in : result.bytes_out, result.times,
                    stream->cipher());
}

// Bytes behind a message on a device look like damage.
void explain_device(OpenFile& file, const Error& error) {
  const bool is_device = S_ISBLK(file.input().status.st_mode);
  if (!is_device || !is_a(error_kind(error), ErrorKind::integrity_error)) return;
  if (file.run().plan.reporting.quiet) return;
  say("note: a device may be larger than its message; `head -c BYTES {} | paraes {} -` reads the "
      "message alone",
      file.job().input.shown, verb_name(file.run().plan.verb));
}

}  // namespace

void transfer_file(OpenFile& file) {
  if (file.is_up_to_date()) {
    file.outcome().report.status = up_to_date_status;
    return;
  }
  const Plan& plan = file.run().plan;
  std::vector<BadRange> bad;
  try {
    if (!is_authenticated(plan.format)) {
      transfer_stream(file);
    } else if (const Message message = file.make_message(); plan.verb == Verb::encrypt) {
      seal_data(file, message);
    } else {
      open_data(file, message, bad);
    }
  } catch (const Error& error) {
    file.check_input_after(error);
    explain_device(file, error);
    throw;
  }
  // Other processes may have read after the last check in this one.
  if (distributor_of(file) != nullptr) file.check_input();
  file.finish();
  if (plan.salvage) report_bad(file, bad);
}

}  // namespace paraes::cli
