#include "cli/run/small_file_task.hpp"

#include <exception>

#include "cli/arguments/options.hpp"
#include "cli/run/file_task.hpp"
#include "paraes/memory.hpp"

namespace paraes::cli {
MutableBytes SmallFileTask::Buffers::grow(std::optional<IoBuffer>& buffer, std::size_t bytes) {
  if (!buffer || buffer->size() < bytes) {
    buffer.emplace(bytes);  // frees the old one before
  }
  return buffer->span().first(bytes);
}

bool SmallFileTask::read() {
  const auto* const source = dynamic_cast<const FileSource*>(file_.input().source.get());
  if (source == nullptr || source->size() > most_bytes || file_.is_up_to_date()) {
    transfer_file(file_);
    return false;
  }
  const auto bytes = static_cast<std::size_t>(source->size());
  const MutableBytes buffer = buffers_.in(bytes + 1);
  const Clock::time_point start = Clock::now();
  source->read_whole(buffer);
  times_.read = nanoseconds_since(start);
  in_ = buffer.first(bytes);
  // Closes the file. What is wrong with the bytes from here on is no change while they were read.
  file_.input().source = std::make_unique<MemorySource>(in_, file_.job().input.shown);
  message_.emplace(file_.make_message());
  const SegmentLayout& layout = message_->layout();
  std::uint64_t out_bytes = 0;
  if (file_.run().plan.verb == Verb::encrypt) {
    plain_bytes_ = bytes;
    out_bytes = layout.sealed_bytes(bytes);
  } else {
    const SegmentLayout::Extent extent = layout.extent_of(bytes);
    plain_bytes_ = out_bytes = extent.plain_bytes;
    empty_last_ = extent.empty_last;
  }
  out_ = buffers_.out(static_cast<std::size_t>(out_bytes));
  return true;
}

WholeMessage SmallFileTask::message() {
  return {.message = &*message_, .in = in_, .out = out_, .error = nullptr};
}

void SmallFileTask::write(const WholeMessage& done) {
  if (done.error) std::rethrow_exception(done.error);
  if (file_.run().plan.verb != Verb::verify) {
    Sink& sink = file_.open_output(false);
    const Clock::time_point start = Clock::now();
    sink.write(out_);
    times_.write = nanoseconds_since(start);
  }
  file_.report_progress(plain_bytes_);
  if (empty_last_) file_.say_empty_last_segment();
  file_.report_times(plain_bytes_, times_, message_->cipher());
  file_.finish();
}

void SmallFileTask::run() {
  if (!read()) return;
  WholeMessage whole = message();
  const Clock::time_point start = Clock::now();
  if (file_.run().plan.verb == Verb::encrypt) {
    seal_messages({&whole, 1});
  } else {
    open_messages({&whole, 1});
  }
  times_.kernel = nanoseconds_since(start);
  write(whole);
}

}  // namespace paraes::cli
