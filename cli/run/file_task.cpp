#include "cli/run/file_task.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "cli/arguments/options.hpp"
#include "cli/run/report.hpp"
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

}  // namespace

void FileTask::run() {
  if (file_.is_up_to_date()) {
    outcome_.report.status = up_to_date_status;
    return;
  }
  try {
    transfer();
  } catch (const Error&) {
    file_.check_input_after_error();
    throw;
  }
  // Other processes may have read after the last check in this one.
  if (distributor() != nullptr) file_.check_input();
  file_.finish();
  if (bad_) report_bad(*bad_);
}

// Not before the output is committed: until then, nothing may have been written.
void FileTask::report_bad(const std::vector<BadRange>& bad) {
  RunReport& report = outcome_.report;
  report.bad_ranges = bad;
  if (bad.empty()) return;
  report.exit = exit_some_failed;
  report.status = loss_text(bad, report.bytes);
  outcome_.messages.push_back(with_name(report.status, {input_name(job_.input.shown)}));
}

void FileTask::transfer() {
  if (is_authenticated(plan_.format)) {
    transfer_message();
  } else {
    transfer_stream();
  }
}

// Null if this process transfers the file alone.
Distributor* FileTask::distributor() const {
  return job_.alone || !is_authenticated(plan_.format) ? nullptr : run_.distributor;
}

Sink& FileTask::open_output() {
  return file_.open_output(distributor() != nullptr && distributor()->names_files());
}

void FileTask::transfer_message() {
  const Message message = file_.make_message();
  OpenOptions options;
  options.threads = job_.threads;
  options.overlap = plan_.overlap;
  options.progress = [this](std::uint64_t done) { file_.report_progress(done); };
  if (plan_.verb != Verb::encrypt) {
    open_message(message, std::move(options));
    return;
  }
  Source& source = *file_.input().source;
  // Refuse an impossible length before the output exists.
  if (const auto left = source.remaining()) {
    static_cast<void>(message.layout().segments_of(*left));
  }
  Sink& sink = open_output();
  const TransferResult result =
      distributor() != nullptr ? distributor()->seal(source, message, sink, options, file_.names())
                               : seal_message(source, message, sink, options);
  file_.report_bytes(result.plain_bytes);
  file_.report_times(result.times, message.cipher());
}

void FileTask::open_message(const Message& message, OpenOptions options) {
  options.offset = plan_.offset;
  options.length = plan_.length;
  std::vector<BadRange> bad;
  if (plan_.salvage) {
    options.salvage = &bad;
  } else if (const PositionalSource* file = file_.positional(); file != nullptr) {
    static_cast<void>(message.layout().extent_of(file->size()));
  }
  if (plan_.verb != Verb::verify) open_output();
  Source& source = *file_.input().source;
  const OpenResult result =
      distributor() != nullptr
          ? distributor()->open(source, message, file_.sink(), options, file_.names())
          : paraes::open_message(source, message, file_.sink(), options);
  file_.report_bytes(result.plain_bytes);
  file_.report_times(result.times, message.cipher());
  if (result.empty_last) file_.say_empty_last_segment();
  if (plan_.salvage) bad_ = std::move(bad);
}

void FileTask::transfer_stream() {
  std::optional<SaltedHeader> new_header;
  const std::unique_ptr<StreamTransform> stream = file_.make_stream(new_header);
  Source& source = *file_.input().source;
  if (const auto left = source.remaining()) stream->check_length(*left);
  Sink& sink = open_output();
  if (new_header) sink.write(new_header->encode());
  const CopyResult result = copy_stream(
      source, *stream, sink, [this](std::uint64_t done) { file_.report_progress(done); },
      plan_.overlap);
  file_.report_bytes(plan_.verb == Verb::encrypt ? result.bytes_in : result.bytes_out);
  file_.report_times(result.times, stream->cipher());
}

}  // namespace paraes::cli
