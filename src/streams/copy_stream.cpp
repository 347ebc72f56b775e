// Source → stream → sink, chunk by chunk.

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "paraes/streams.hpp"
#include "src/core/chunk.hpp"
#include "src/core/executor.hpp"
#include "src/io/chunk_workers.hpp"
#include "src/io/fresh_pages.hpp"

namespace paraes {
namespace {

// One worker reads, one computes and one writes.
constexpr std::uint64_t max_workers = 3;
// A worker for less of a file costs more than the overlap saves.
constexpr std::uint64_t min_overlapping_bytes = std::uint64_t{1} << 20;

// Room for what is read ahead and for growth, so that buffers are whole pages and a power of two.
constexpr std::uint64_t room_bytes = 4096;
static_assert(StreamTransform::lookahead + StreamTransform::growth <= room_bytes);
// The largest buffer of a chunk for one thread: about what a second-level cache holds from the read
// to the write.
constexpr std::uint64_t thread_buffer_bytes = std::uint64_t{1} << 20;
// The largest buffer for a GPU, and for threads that compute each chunk together.
constexpr std::uint64_t launch_buffer_bytes = std::uint64_t{4} << 20;
// Buffers of small files are multiples of this.
constexpr std::uint64_t buffer_step = std::uint64_t{64} << 10;
// Small files are cut in about so many chunks: workers can share them, and the system spends less
// time on new pages for buffers, from which one thread gains as well.
constexpr std::uint64_t chunks_of_small_file = 16;
// Larger buffers, for large data units, are copied into a pipe: three in new pages, and what the
// pipe holds, would be too much memory.
constexpr std::size_t max_fresh_bytes = std::size_t{4} << 20;

// Says which stage has taken the most time of late: a pause of whoever writes to the pipe, however
// long, is forgotten once a few chunks have followed.
class RecentTimes {
 public:
  // To be called once a chunk.
  [[nodiscard]] bool computing_takes_longest(const StageTimes& times) {
    const PhaseTimes now = times.phases();
    if (++chunks_ % window == 0) {
      begin_ = middle_;
      middle_ = now;
    }
    return now.kernel - begin_.kernel > std::max(now.read - begin_.read, now.write - begin_.write);
  }

 private:
  static constexpr unsigned window = 8;  // times of the last 8 to 16 chunks

  unsigned chunks_ = 0;
  PhaseTimes begin_;
  PhaseTimes middle_;
};

// Computes all ranges on the calling thread.
void run_in_turn(unsigned tasks, TaskRef body) {
  for (unsigned task = 0; task < tasks; ++task) body(task);
}

class StreamCopy final : private WorkerStages {
 public:
  StreamCopy(Source& source, StreamTransform& stream, Sink& sink, const CopyProgress& progress,
             bool overlap)
      : source_(source),
        stream_(stream),
        sink_(sink),
        progress_(progress),
        threads_(stream.cipher().threads()),
        on_device_(stream.cipher().device() != "cpu"),
        granule_(stream.granule()),
        least_last_(stream.least_last()),
        overlaps_(overlap && threads_ != 1) {}

  CopyResult run() {
    const auto input_bytes = source_.remaining();
    if (input_bytes) stream_.check_length(*input_bytes);
    chunk_ = chunk_bytes(input_bytes);
    ahead_.reserve(least_last_ + (input_bytes ? 0 : granule_));
    is_small_ = input_bytes && *input_bytes < 2 * min_bytes_per_worker;
    FreshPages* const pages =
        sink_.takes_pages() && capacity() <= max_fresh_bytes ? &pages_ : nullptr;
    workers_ = make_for_workers(worker_count(input_bytes), [&](unsigned) {
      return std::make_unique<Worker>(capacity(), pages);
    });
    carry_chunks(static_cast<unsigned>(workers_.size()), *this, source_,
                 {.reads = true, .computes = true, .writes = true}, times_);
    result_.times = times_.phases();
    return result_;
  }

 private:
  struct Worker {
    Worker(std::size_t bytes, FreshPages* pages) : buffer(bytes, pages) {}

    SinkBuffer buffer;
    MutableBytes data;           // of the chunk
    bool last = false;           // whether it is the last one
    std::uint64_t bytes_in = 0;  // read when the chunk was complete
  };

  [[nodiscard]] std::size_t chunk_bytes(std::optional<std::uint64_t> input_bytes) const {
    const bool for_all_threads = on_device_ || (threads_ != 1 && !overlaps_);
    std::uint64_t buffer = for_all_threads ? launch_buffer_bytes : thread_buffer_bytes;
    if (input_bytes) {
      const std::uint64_t chunks = for_all_threads ? 1 : chunks_of_small_file;
      // The sum does not overflow, whatever size a source names.
      const std::uint64_t needed = std::min(*input_bytes / chunks, buffer) + room_bytes + 1;
      buffer = std::min(buffer, (needed + buffer_step - 1) / buffer_step * buffer_step);
    }
    const auto granules = static_cast<std::size_t>(buffer - room_bytes) / granule_;
    return std::max<std::size_t>(granules, 1) * granule_;
  }

  [[nodiscard]] unsigned worker_count(std::optional<std::uint64_t> input_bytes) const {
    if (!overlaps_) return 1;
    std::uint64_t count = std::min(max_workers, max_buffered_bytes / chunk_);
    if (input_bytes) count = std::min(count, *input_bytes / min_overlapping_bytes);
    return static_cast<unsigned>(std::max<std::uint64_t>(count, 1));
  }

  // The bytes of a full chunk and of what follows it.
  [[nodiscard]] std::size_t capacity() const noexcept {
    return chunk_ + least_last_ + StreamTransform::growth;
  }

  Next read(unsigned index, std::uint64_t number) override {
    Worker& worker = *workers_[index];
    // A message of one chunk costs no huge page.
    const MutableBytes buffer =
        number == 0 ? worker.buffer.take_own(0, capacity()) : worker.buffer.take(0, capacity());
    std::copy(ahead_.begin(), ahead_.end(), buffer.begin());
    const std::size_t least = granule_ + least_last_ - ahead_.size();
    const std::size_t most = chunk_ + least_last_ - ahead_.size();
    const Source::Ready ready = source_.read_ready(buffer.subspan(ahead_.size(), most), least);
    const std::size_t held = ahead_.size() + ready.bytes;
    bytes_in_ += ready.bytes;
    worker.bytes_in = bytes_in_;
    worker.last = ready.ended;
    if (worker.last) {
      source_.check_unchanged();
      worker.data = buffer.first(held);
      return Next::last_chunk;
    }
    // The bytes that cannot be part of the end; less than a full chunk where the writer pauses.
    const std::size_t whole = (held - least_last_) / granule_ * granule_;
    worker.data = buffer.first(whole);
    ahead_.assign(buffer.begin() + static_cast<std::ptrdiff_t>(whole),
                  buffer.begin() + static_cast<std::ptrdiff_t>(held));
    return Next::chunk;
  }

  void compute(unsigned index) override {
    Worker& worker = *workers_[index];
    // Other threads help if all wait for computing. Otherwise they would only take the cores
    // from the workers that read and write, and from whoever is at the other ends of the pipes.
    const bool computing_is_slow = recent_.computing_takes_longest(times_);
    const bool helped = !overlaps_ || (!is_small_ && computing_is_slow);
    std::optional<SpreadScope> alone;
    if (!helped) alone.emplace(run_in_turn);
    if (worker.last) {
      std::uint8_t* const data = worker.data.data();
      worker.data = {data, stream_.finish(data, worker.data.size())};
    } else {
      stream_.update(worker.data);
    }
  }

  void write(unsigned index) override {
    const Worker& worker = *workers_[index];
    worker.buffer.write(sink_, worker.data);
    result_.bytes_in = worker.bytes_in;
    result_.bytes_out += worker.data.size();
    if (progress_) progress_(worker.bytes_in);
  }

  Source& source_;
  StreamTransform& stream_;
  Sink& sink_;
  const CopyProgress& progress_;
  const int threads_;
  const bool on_device_;
  const std::size_t granule_;
  const std::size_t least_last_;
  const bool overlaps_;
  std::size_t chunk_ = 0;
  bool is_small_ = false;  // so that no other thread is worth its start
  FreshPages pages_;
  std::vector<std::unique_ptr<Worker>> workers_;
  // Bytes that the last read took ahead, for the next one.
  std::vector<std::uint8_t> ahead_;
  std::uint64_t bytes_in_ = 0;
  StageTimes times_;
  RecentTimes recent_;
  CopyResult result_;
};

}  // namespace

CopyResult copy_stream(Source& source, StreamTransform& stream, Sink& sink,
                       const CopyProgress& progress, bool overlap) {
  return StreamCopy(source, stream, sink, progress, overlap).run();
}

}  // namespace paraes
