#include "cli/small_file_task.hpp"

#include <exception>

#include "cli/file_task.hpp"
#include "paraes/error.hpp"

namespace paraes::cli {
bool SmallFileTask::read() {
  const PositionalSource* const source = file_.positional();
  if (source == nullptr || source->size() > most_bytes || file_.is_up_to_date()) {
    FileTask(run_, job_, file_, outcome_).run();
    return false;
  }
  const std::uint64_t bytes = source->size();
  try {
    message_.emplace(file_.make_message());
  } catch (const Error&) {
    file_.check_input_after_error();
    throw;
  }
  const SegmentLayout& layout = message_->layout();
  std::uint64_t out_bytes = 0;
  if (run_.plan.verb == Verb::encrypt) {
    plain_bytes_ = bytes;
    out_bytes = layout.sealed_bytes(bytes);
  } else {
    const SegmentLayout::Extent extent = layout.extent_of(bytes);
    plain_bytes_ = out_bytes = extent.plain_bytes;
    empty_last_ = extent.empty_last;
  }
  const Clock::time_point start = Clock::now();
  in_.resize(static_cast<std::size_t>(bytes));
  read_exactly(*source, 0, in_);
  file_.check_input();
  times_.read = nanoseconds_since(start);
  out_.resize(static_cast<std::size_t>(out_bytes));
  file_.input().source.reset();
  return true;
}

WholeMessage SmallFileTask::message() {
  return {.message = &*message_, .in = in_, .out = out_, .error = nullptr};
}

void SmallFileTask::write(const WholeMessage& done) {
  if (done.error) std::rethrow_exception(done.error);
  if (run_.plan.verb != Verb::verify) {
    Sink& sink = file_.open_output(false);
    const Clock::time_point start = Clock::now();
    sink.write(out_);
    times_.write = nanoseconds_since(start);
  }
  file_.report_progress(plain_bytes_);
  file_.report_bytes(plain_bytes_);
  if (empty_last_) file_.say_empty_last_segment();
  file_.report_times(times_, message_->cipher());
  file_.finish();
}

}  // namespace paraes::cli
