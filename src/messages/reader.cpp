// Reads the plaintext of a message at any offset, and ahead of a caller that reads in order.

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "paraes/error.hpp"
#include "paraes/message_streams.hpp"
#include "paraes/secret.hpp"
#include "paraes/threads.hpp"
#include "src/core/non_copyable.hpp"
#include "src/core/system/blocked_signals.hpp"
#include "src/io/grown.hpp"

namespace paraes {
namespace {

// A window grows up to this size. From the smaller one on, the next window is opened ahead.
constexpr std::uint64_t most_window_bytes = std::uint64_t{4} << 20;
constexpr std::uint64_t ahead_bytes = std::uint64_t{1} << 20;
constexpr std::uint64_t first_window_bytes = std::uint64_t{64} << 10;
// The bytes that one thread reads and opens at a time: they stay in the caches.
constexpr std::uint64_t job_bytes = std::uint64_t{256} << 10;
// A range of fewer bytes takes less time than to start threads.
constexpr std::uint64_t least_threaded_bytes = std::uint64_t{512} << 10;

std::uint64_t segments_in(const SegmentLayout& layout, std::uint64_t bytes) {
  return std::max<std::uint64_t>(1, bytes / layout.segment_bytes);
}

}  // namespace

class MessageReader::Impl : NonCopyable {
 public:
  Impl(std::unique_ptr<PositionalSource> source, Message message, int threads, bool in_threads);
  ~Impl();

  [[nodiscard]] std::uint64_t size() const noexcept { return extent_.plain_bytes; }
  [[nodiscard]] const PositionalSource& source() const noexcept { return *source_; }
  [[nodiscard]] const Message& message() const noexcept { return message_; }
  [[nodiscard]] int source_threads() const noexcept { return in_threads_ ? threads_ : 1; }
  std::size_t read(std::uint64_t offset, MutableBytes out);
  void forget() noexcept;

 private:
  // Plaintext of consecutive segments.
  struct Window {
    std::uint64_t begin = 0;
    std::size_t bytes = 0;
    std::unique_ptr<IoBuffer> memory;

    [[nodiscard]] bool holds(std::uint64_t offset) const noexcept {
      return offset >= begin && offset - begin < bytes;
    }
  };

  // Buffers of sealed segments, one for each thread that opens a range.
  using Scratch = std::vector<std::unique_ptr<IoBuffer>>;

  // The thread that opens the next window while the caller uses the present one.
  class Ahead;

  void open_range(std::uint64_t first, std::uint64_t count, MutableBytes plain, int threads,
                  Scratch& scratch) const;
  void fill(Window& window, std::uint64_t first, std::uint64_t count, int threads,
            Scratch& scratch) const;
  [[nodiscard]] std::uint64_t plain_bytes(std::uint64_t first, std::uint64_t count) const noexcept;
  [[nodiscard]] bool take_ahead(std::uint64_t offset);
  void read_ahead(std::uint64_t offset);
  void fill_window(std::uint64_t at, std::uint64_t first, std::size_t bytes, bool in_order,
                   bool direct);
  void forget_parents_thread() noexcept;

  std::unique_ptr<PositionalSource> source_;
  Message message_;
  SegmentLayout::Extent extent_;
  int threads_;
  bool in_threads_;
  unsigned forks_;

  Window window_;
  Scratch scratch_;
  std::uint64_t next_offset_ = 0;      // where a caller that reads in order goes on
  std::uint64_t window_segments_ = 0;  // of the last window; grows while reads are in order
  std::unique_ptr<Ahead> ahead_;
};

class MessageReader::Impl::Ahead : NonCopyable {
 public:
  explicit Ahead(const Impl& reader) : reader_(reader) {
    const system::BlockedSignals blocked;
    thread_ = std::thread([this] { work(); });
  }
  ~Ahead() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
    wipe(window_);
  }

  // Opens segments [first, first + count) in the background. Only when nothing is under way.
  void start(std::uint64_t first, std::uint64_t count) {
    {
      const std::lock_guard lock(mutex_);
      first_ = first;
      count_ = count;
      error_ = nullptr;
      state_ = State::working;
    }
    changed_.notify_all();
  }

  // Whether the window that is being opened, or was opened last, has this byte.
  [[nodiscard]] bool covers(std::uint64_t offset) {
    const std::lock_guard lock(mutex_);
    if (state_ == State::idle) return false;
    const std::uint64_t begin = reader_.message_.layout().plain_offset(first_);
    return offset >= begin && offset - begin < reader_.plain_bytes(first_, count_);
  }

  // Waits for the window and exchanges it for `other`. Throws if it could not be opened.
  void take(Window& other) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return state_ == State::done; });
    state_ = State::idle;
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    std::swap(window_, other);
  }

  // Waits until nothing is under way.
  void settle() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return state_ != State::working; });
    state_ = State::idle;
  }

  static void wipe(Window& window) noexcept {
    if (window.memory) secure_zero(window.memory->data(), window.memory->size());
    window.bytes = 0;
  }

 private:
  enum class State { idle, working, done };

  void work() noexcept {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return ends_ || state_ == State::working; });
      if (ends_) {
        wipe_stack();  // the system may give it to another thread
        return;
      }
      const std::uint64_t first = first_;
      const std::uint64_t count = count_;
      lock.unlock();
      std::exception_ptr error;
      try {
        reader_.fill(window_, first, count, reader_.threads_, scratch_);
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      error_ = error;
      state_ = State::done;
      changed_.notify_all();
    }
  }

  const Impl& reader_;
  Scratch scratch_;
  Window window_;
  std::mutex mutex_;
  std::condition_variable changed_;
  State state_ = State::idle;
  bool ends_ = false;
  std::uint64_t first_ = 0;
  std::uint64_t count_ = 0;
  std::exception_ptr error_;
  std::thread thread_;
};

MessageReader::Impl::Impl(std::unique_ptr<PositionalSource> source, Message message, int threads,
                          bool in_threads)
    : source_(std::move(source)),
      message_(std::move(message)),
      extent_(message_.layout().extent_of(source_->size())),
      threads_(threads),
      in_threads_(in_threads),
      forks_(forks()) {
  fill(window_, extent_.segments - 1, 1, 1, scratch_);
}

MessageReader::Impl::~Impl() {
  if (forks_ != forks()) forget_parents_thread();
  Ahead::wipe(window_);
}

// In a child process the thread does not exist, and its mutex may be locked for ever: `ahead_` is
// given up without its destructor.
void MessageReader::Impl::forget_parents_thread() noexcept {
  static_cast<void>(ahead_.release());
  forks_ = forks();
}

std::uint64_t MessageReader::Impl::plain_bytes(std::uint64_t first,
                                               std::uint64_t count) const noexcept {
  const SegmentLayout& layout = message_.layout();
  const std::uint64_t end =
      first + count == extent_.segments ? extent_.plain_bytes : layout.plain_offset(first + count);
  return end - layout.plain_offset(first);
}

// Opens segments [first, first + count). plain: plain_bytes(first, count) bytes.
void MessageReader::Impl::open_range(std::uint64_t first, std::uint64_t count, MutableBytes plain,
                                     int threads, Scratch& scratch) const {
  const SegmentLayout& layout = message_.layout();
  const std::size_t launch = message_.cipher().launch_bytes();
  const std::uint64_t per_job = segments_in(layout, launch != 0 ? launch : job_bytes);
  const std::uint64_t jobs = (count + per_job - 1) / per_job;
  unsigned workers = launch != 0
                         ? message_.cipher().launch_threads()
                         : static_cast<unsigned>(threads == 0 ? available_cores() : threads);
  int threads_of_job = 1;
  if (!in_threads_ || message_.cipher().threads() > 1) {
    workers = 1;
    threads_of_job = threads;
  }
  if (plain.size() < least_threaded_bytes) workers = 1;
  workers = static_cast<unsigned>(std::min<std::uint64_t>(workers, jobs));
  if (scratch.size() < workers) scratch.resize(workers);
  const std::uint64_t begin = layout.plain_offset(first);
  const auto open = [&](unsigned worker, std::uint64_t job) {
    const std::uint64_t from = first + job * per_job;
    const std::uint64_t n = std::min(per_job, first + count - from);
    const bool ends = from + n == extent_.segments;
    const auto bytes = static_cast<std::size_t>(plain_bytes(from, n));
    const MutableBytes sealed =
        detail::grown(scratch[worker], bytes + static_cast<std::size_t>(n) * segment_tag_bytes);
    read_exactly(*source_, layout.sealed_offset(from), sealed);
    open_segments(message_, from, ends, sealed,
                  plain.subspan(static_cast<std::size_t>(layout.plain_offset(from) - begin), bytes),
                  threads_of_job);
  };
  if (workers == 1) {
    for (std::uint64_t job = 0; job < jobs; ++job) open(0, job);
  } else {
    for_each_job(workers, jobs, open);
  }
}

void MessageReader::Impl::fill(Window& window, std::uint64_t first, std::uint64_t count,
                               int threads, Scratch& scratch) const {
  const auto bytes = static_cast<std::size_t>(plain_bytes(first, count));
  window.bytes = 0;
  if (window.memory && window.memory->size() < bytes) {
    secure_zero(window.memory->data(), window.memory->size());
  }
  const MutableBytes plain =
      detail::grown(window.memory, std::max<std::size_t>(bytes, 1)).first(bytes);
  open_range(first, count, plain, threads, scratch);
  window.begin = message_.layout().plain_offset(first);
  window.bytes = bytes;
}

// Whether the window with this byte was opened ahead. It is then the present one.
bool MessageReader::Impl::take_ahead(std::uint64_t offset) {
  if (!ahead_ || !ahead_->covers(offset)) return false;
  try {
    ahead_->take(window_);
  } catch (const IntegrityError&) {
    return false;  // the damage may lie beyond what the caller wants
  }
  read_ahead(window_.begin + window_.bytes);
  return true;
}

// Has the window that begins at the segment of byte `offset` opened in the background.
void MessageReader::Impl::read_ahead(std::uint64_t offset) {
  if (offset >= extent_.plain_bytes) return;
  if (!in_threads_ || threads_ == 1 || thread_limit() == 1) return;
  const std::uint64_t first = message_.layout().segment_at(offset);
  const std::uint64_t count =
      std::min(segments_in(message_.layout(), most_window_bytes), extent_.segments - first);
  if (!ahead_) {
    try {
      ahead_ = std::make_unique<Ahead>(*this);
    } catch (const std::system_error&) {
      return;  // no more threads: the caller reads by itself
    }
  } else {
    ahead_->settle();
  }
  ahead_->start(first, count);
}

// Fills the window from segment `first` on, for a read of `bytes` bytes from `at` on.
void MessageReader::Impl::fill_window(std::uint64_t at, std::uint64_t first, std::size_t bytes,
                                      bool in_order, bool direct) {
  const SegmentLayout& layout = message_.layout();
  std::uint64_t count = direct ? 1 : layout.segment_at(at + bytes - 1) + 1 - first;
  if (in_order && !direct) {
    window_segments_ = std::clamp(2 * window_segments_, segments_in(layout, first_window_bytes),
                                  segments_in(layout, most_window_bytes));
    count = std::max(count, window_segments_);
  }
  if (!in_order) window_segments_ = 0;
  count = std::min({count, segments_in(layout, most_window_bytes), extent_.segments - first});
  try {
    fill(window_, first, count, threads_, scratch_);
  } catch (const IntegrityError&) {
    if (count == 1) throw;
    // Damage beyond the next segment is for later reads.
    count = 1;
    fill(window_, first, count, threads_, scratch_);
  }
  if (in_order && count * layout.segment_bytes >= ahead_bytes) {
    read_ahead(window_.begin + window_.bytes);
  }
}

std::size_t MessageReader::Impl::read(std::uint64_t offset, MutableBytes out) {
  if (forks_ != forks()) forget_parents_thread();
  if (offset >= extent_.plain_bytes) return 0;
  const SegmentLayout& layout = message_.layout();
  const bool in_order = offset == next_offset_;
  out = out.first(
      static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), extent_.plain_bytes - offset)));
  std::size_t done = 0;
  while (done < out.size()) {
    const std::uint64_t at = offset + done;
    const MutableBytes rest = out.subspan(done);
    if (window_.holds(at) || take_ahead(at)) {
      const auto from = static_cast<std::size_t>(at - window_.begin);
      const std::size_t n = std::min(rest.size(), window_.bytes - from);
      std::memcpy(rest.data(), window_.memory->data() + from, n);
      done += n;
      continue;
    }
    const std::uint64_t first = layout.segment_at(at);
    // The segments that lie in `rest` as a whole; the first one may not.
    const bool to_end = at + rest.size() == extent_.plain_bytes;
    const std::uint64_t behind = to_end ? extent_.segments : layout.segment_at(at + rest.size());
    const bool aligned = layout.plain_offset(first) == at;
    const std::uint64_t whole = behind > first + (aligned ? 0 : 1) ? behind - first - !aligned : 0;
    const std::uint64_t whole_bytes = whole * layout.segment_bytes;
    // They go where the caller wants them, without a copy. What is read in order goes through a
    // window, which other threads can open ahead.
    const bool direct =
        whole_bytes >= (in_order && in_threads_ ? most_window_bytes : first_window_bytes);
    if (direct && aligned) {
      const auto bytes = static_cast<std::size_t>(plain_bytes(first, whole));
      open_range(first, whole, rest.first(bytes), threads_, scratch_);
      done += bytes;
    } else {
      fill_window(at, first, rest.size(), in_order, direct);
    }
  }
  next_offset_ = offset + done;
  const bool has_next = window_.holds(next_offset_) || (ahead_ && ahead_->covers(next_offset_));
  if (in_order && !has_next && done >= ahead_bytes) read_ahead(next_offset_);
  return done;
}

void MessageReader::Impl::forget() noexcept {
  if (forks_ != forks()) forget_parents_thread();
  ahead_.reset();
  Ahead::wipe(window_);
  wipe_stack();  // kernels put the ends of texts there
  next_offset_ = 0;
  window_segments_ = 0;
}

MessageReader::MessageReader(std::unique_ptr<PositionalSource> source, Message message, int threads,
                             bool in_threads)
    : impl_(std::make_unique<Impl>(std::move(source), std::move(message), threads, in_threads)) {}
MessageReader::~MessageReader() = default;

std::uint64_t MessageReader::size() const noexcept { return impl_->size(); }
const PositionalSource& MessageReader::source() const noexcept { return impl_->source(); }
const Message& MessageReader::message() const noexcept { return impl_->message(); }
int MessageReader::source_threads() const noexcept { return impl_->source_threads(); }
std::size_t MessageReader::read(std::uint64_t offset, MutableBytes out) {
  return impl_->read(offset, out);
}
void MessageReader::forget() noexcept { impl_->forget(); }

}  // namespace paraes
