// Encrypts what is written, in order, to any sink.

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "paraes/forks.hpp"
#include "paraes/message_streams.hpp"
#include "paraes/secret.hpp"
#include "paraes/threads.hpp"
#include "src/core/non_copyable.hpp"
#include "src/io/grown.hpp"

namespace paraes {
namespace {

// Small writes are gathered up to this size.
constexpr std::uint64_t pending_capacity = std::uint64_t{1} << 20;
// The bytes that one thread seals and writes at a time.
constexpr std::uint64_t job_bytes = std::uint64_t{256} << 10;

}  // namespace

class MessageWriter::Impl : NonCopyable {
 public:
  Impl(std::unique_ptr<Sink> sink, Message message, int threads, std::function<void()> commit)
      : sink_(std::move(sink)),
        file_(dynamic_cast<PositionalSink*>(sink_.get())),
        commit_(std::move(commit)),
        message_(std::move(message)),
        threads_(threads) {}
  ~Impl() {
    if (pending_) secure_zero(pending_->data(), pending_->size());
  }

  [[nodiscard]] const Message& message() const noexcept { return message_; }
  [[nodiscard]] bool is_ours() const noexcept { return owner_.is_this(); }

  void write(Bytes plain) {
    owner_.check("a file that is being written");
    const SegmentLayout& layout = message_.layout();
    // Refuse what no message can hold before the first byte of it is sealed.
    static_cast<void>(layout.segments_of(written_ + plain.size()));
    const bool keeps_full = layout.last == SegmentLayout::Last::any;
    const auto bytes = plain.size();
    while (!plain.empty()) {
      const std::uint64_t begin = layout.plain_offset(next_);
      if (pending_bytes_ == 0 && plain.size() >= pending_capacity) {
        // Whole segments, without a copy. Tink's last one may be whole, so it stays behind.
        const std::uint64_t whole = layout.segment_at(begin + plain.size() - (keeps_full ? 1 : 0));
        const auto n = static_cast<std::size_t>(layout.plain_offset(whole) - begin);
        if (n != 0) {
          seal(plain.first(n), false);
          plain = plain.subspan(n);
          continue;
        }
      }
      // Room for whole segments.
      const std::uint64_t segments =
          std::max<std::uint64_t>(1, pending_capacity / layout.segment_bytes);
      const auto full = static_cast<std::size_t>(layout.plain_offset(next_ + segments) - begin);
      if (pending_bytes_ == full) {  // and more follows
        seal({pending_->data(), full}, false);
        pending_bytes_ = 0;
        continue;
      }
      const std::size_t n = std::min(plain.size(), full - pending_bytes_);
      if (!pending_ || pending_->size() < pending_bytes_ + n) {
        // Grows with the data, because Tink allows segments of 2 GiB.
        const std::size_t size = std::min(
            full,
            std::max<std::size_t>({std::size_t{64} << 10, 2 * pending_bytes_, pending_bytes_ + n}));
        auto larger = std::make_unique<IoBuffer>(size);
        if (pending_) {
          std::memcpy(larger->data(), pending_->data(), pending_bytes_);
          secure_zero(pending_->data(), pending_->size());
        }
        pending_ = std::move(larger);
      }
      std::memcpy(pending_->data() + pending_bytes_, plain.data(), n);
      pending_bytes_ += n;
      plain = plain.subspan(n);
    }
    written_ += bytes;
  }

  void finish() {
    owner_.check("a file that is being written");
    seal({pending_ ? pending_->data() : nullptr, pending_bytes_}, true);
    pending_bytes_ = 0;
    if (commit_) {
      commit_();
    } else {
      sink_->commit();
    }
  }

 private:
  void put(std::uint64_t offset, Bytes data) {
    if (file_ != nullptr) {
      file_->write_at(offset, data);
    } else {
      sink_->write(data);
    }
  }

  // Seals and writes the next segments: whole ones, unless the message ends with them.
  void seal(Bytes plain, bool ends) {
    const SegmentLayout& layout = message_.layout();
    const std::uint64_t first = next_;
    const std::uint64_t begin = layout.plain_offset(first);
    // An empty text is not a segment, but an empty message and the end of a C2SP message are one.
    std::uint64_t count = 0;
    if (ends) {
      count = layout.segments_of(begin + plain.size()) - first;
    } else if (!plain.empty()) {
      count = layout.segment_at(begin + plain.size()) - first;
    }
    if (!has_header_) {
      put(0, message_.header());
      has_header_ = true;
    }
    if (count == 0) return;

    const std::size_t launch = message_.cipher().launch_bytes();
    const bool alone = file_ == nullptr || message_.cipher().threads() > 1;
    const std::uint64_t bytes = launch != 0 ? launch : alone ? pending_capacity : job_bytes;
    const std::uint64_t per_job = std::max<std::uint64_t>(1, bytes / layout.segment_bytes);
    const std::uint64_t jobs = (count + per_job - 1) / per_job;
    const unsigned most = launch != 0     ? message_.cipher().launch_threads()
                          : threads_ == 0 ? static_cast<unsigned>(available_cores())
                                          : static_cast<unsigned>(threads_);
    const auto workers = alone ? 1U : static_cast<unsigned>(std::min<std::uint64_t>(most, jobs));
    if (sealed_.size() < workers) sealed_.resize(workers);
    const auto seal_job = [&](unsigned worker, std::uint64_t job) {
      const std::uint64_t from = first + job * per_job;
      const std::uint64_t n = std::min(per_job, first + count - from);
      const bool last = from + n == first + count;
      const auto at = static_cast<std::size_t>(layout.plain_offset(from) - begin);
      const std::size_t end =
          last ? plain.size() : static_cast<std::size_t>(layout.plain_offset(from + n) - begin);
      const Bytes text = plain.subspan(at, end - at);
      const MutableBytes out = detail::grown(
          sealed_[worker], text.size() + static_cast<std::size_t>(n) * segment_tag_bytes);
      seal_segments(message_, from, ends && last, text, out, alone ? threads_ : 1);
      put(layout.sealed_offset(from), out);
    };
    if (workers == 1) {
      for (std::uint64_t job = 0; job < jobs; ++job) seal_job(0, job);
    } else {
      for_each_job(workers, jobs, seal_job);
    }
    next_ += count;
  }

  std::unique_ptr<Sink> sink_;
  PositionalSink* file_;  // the same; nullptr if it takes bytes in order alone
  std::function<void()> commit_;
  Message message_;
  int threads_;
  OwnerProcess owner_;
  std::uint64_t next_ = 0;  // the next segment
  std::uint64_t written_ = 0;
  bool has_header_ = false;
  std::unique_ptr<IoBuffer> pending_;  // plaintext of segments that are not complete yet
  std::size_t pending_bytes_ = 0;
  std::vector<std::unique_ptr<IoBuffer>> sealed_;  // one for each thread
};

MessageWriter::MessageWriter(std::unique_ptr<Sink> sink, Message message, int threads,
                             std::function<void()> commit)
    : impl_(std::make_unique<Impl>(std::move(sink), std::move(message), threads,
                                   std::move(commit))) {}
MessageWriter::~MessageWriter() = default;

bool MessageWriter::is_ours() const noexcept { return impl_->is_ours(); }
const Message& MessageWriter::message() const noexcept { return impl_->message(); }
void MessageWriter::write(Bytes plain) { impl_->write(plain); }
void MessageWriter::finish() { impl_->finish(); }

}  // namespace paraes
