#include "cli/run/small_file_task.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "cli/arguments/options.hpp"
#include "cli/run/file_task.hpp"
#include "paraes/error.hpp"

namespace paraes::cli {
namespace {

// A file that was read.
class MemorySource : public PositionalSource {
 public:
  MemorySource(Bytes bytes, std::string name) : bytes_(bytes), name_(std::move(name)) {}

  std::size_t read(MutableBytes buffer) override {
    const std::size_t n = read_at(position_, buffer);
    position_ += n;
    return n;
  }
  [[nodiscard]] std::optional<std::uint64_t> remaining() const override {
    return bytes_.size() - position_;
  }
  [[nodiscard]] std::size_t read_at(std::uint64_t offset, MutableBytes buffer) const override {
    const Bytes rest = bytes_.subspan(static_cast<std::size_t>(std::min(offset, size())));
    const std::size_t n = std::min(rest.size(), buffer.size());
    std::copy_n(rest.begin(), n, buffer.begin());
    return n;
  }
  [[nodiscard]] std::uint64_t size() const noexcept override { return bytes_.size(); }
  [[nodiscard]] const std::string& name() const noexcept override { return name_; }

 private:
  Bytes bytes_;
  std::string name_;
  std::size_t position_ = 0;
};

}  // namespace

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
