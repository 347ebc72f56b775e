#include "src/messages/pipeline.hpp"

#include <algorithm>
#include <utility>

#include "paraes/error.hpp"
#include "paraes/threads.hpp"
#include "src/core/chunk.hpp"
#include "src/messages/segments.hpp"

namespace paraes::detail {
namespace {

// Additional workers for pipes, because one may wait for input and one for output.
constexpr unsigned waiting_workers = 2;
// Memory for a large segment, until there is more data.
constexpr std::size_t first_bytes = large_segment_bytes;

std::uint64_t segments_per_chunk(const Message& message, std::optional<std::uint64_t> input_bytes) {
  std::uint64_t bytes = cpu_chunk_bytes(input_bytes);
  if (const std::uint64_t launch = message.cipher().launch_bytes(); launch != 0) {
    const unsigned threads = message.cipher().launch_threads();
    bytes =
        std::max(bytes, gpu_chunk_bytes(input_bytes.value_or(threads * launch), launch, threads));
  }
  return std::max<std::uint64_t>(bytes / message.layout().segment_bytes, 1);
}

// Gives memory of a GPU back when a stage fails: other workers may wait for it.
auto with_staging(WorkerBuffers& buffers, const auto& stage) {
  try {
    return stage();
  } catch (...) {
    buffers.stage(nullptr);
    throw;
  }
}

}  // namespace

Pipeline::Pipeline(const Message& message, const TransferOptions& options,
                   std::optional<std::uint64_t> input_bytes, bool keep_input)
    : layout_(message.layout()),
      cipher_(message.cipher()),
      options_(options),
      compute_(options.overlap ? 1 : options.threads),
      per_chunk_(paraes::detail::segments_per_chunk(message, input_bytes)),
      in_place_(per_chunk_ == 1 && !keep_input),
      keeps_input_(keep_input) {}

Pipeline::Range Pipeline::share_of(std::uint64_t count) const noexcept {
  const Share& share = options_.share;
  return {share_begin(count, share.index, share.count),
          share_begin(count, share.index + 1, share.count)};
}

void Pipeline::check_share(bool positional) const {
  if (options_.share.count == 0 || options_.share.index >= options_.share.count) {
    throw InvalidArgument("the index of a share must be less than the number of shares");
  }
  if (options_.share.count > 1 && !positional) {
    throw InvalidArgument("processes can share a message only from a file to a file, not in pipes");
  }
}

unsigned Pipeline::worker_count(std::optional<std::uint64_t> chunks) const {
  if (!options_.overlap || layout_.segment_bytes > large_segment_bytes) return 1;
  if (options_.compute) {
    const std::uint64_t most = std::max<std::uint64_t>(chunks.value_or(options_.workers), 1);
    return static_cast<unsigned>(std::min<std::uint64_t>(options_.workers, most));
  }
  const int asked = options_.threads == 0 ? available_cores() : options_.threads;
  // No more threads compute beside a GPU than were asked for.
  const unsigned helping = cipher_.cpu_threads();
  const std::uint64_t launches =
      cipher_.launch_threads() - helping + std::min(helping, static_cast<unsigned>(asked));
  auto count = std::max(static_cast<std::uint64_t>(asked), launches);
  if (count > 1 && (in_order_.reads || in_order_.writes)) count += waiting_workers;
  const std::uint64_t chunk_bytes = per_chunk_ * layout_.segment_bytes;
  const std::uint64_t held = (in_place_ ? 1 : 2) * chunk_bytes;
  // A GPU needs a chunk for each of its streams.
  count = std::min(count, std::max<std::uint64_t>({max_buffered_bytes / held, launches, 1}));
  if (chunks) {
    const std::uint64_t each = std::max<std::uint64_t>(min_bytes_per_worker / chunk_bytes, 1);
    count = std::min(count, std::max<std::uint64_t>(*chunks / each, 1));
  }
  return static_cast<unsigned>(count);
}

PhaseTimes Pipeline::run(ChunkStages& stages, Source& source, InOrder in_order,
                         std::optional<std::uint64_t> count) {
  stages_ = &stages;
  in_order_ = in_order;
  count_ = count;
  buffers_ = make_buffers(worker_count(count));
  chunks_.resize(buffers_.size());
  StageTimes times;
  carry_chunks(static_cast<unsigned>(buffers_.size()), *this, source,
               {.reads = in_order.reads, .computes = false, .writes = in_order.writes}, times);
  return times.phases();
}

std::vector<std::unique_ptr<WorkerBuffers>> Pipeline::make_buffers(unsigned workers) {
  // All that a full chunk needs, so that a worker does not fail after it has taken a chunk. Only
  // large segments, which one worker processes alone, take memory as their data arrives.
  // PipeReader reads one byte more than a chunk, and of sealed segments a tag more.
  const std::uint64_t chunk =
      per_chunk_ * layout_.segment_bytes + 1 + (per_chunk_ + 1) * segment_tag_bytes;
  const std::size_t bytes =
      layout_.segment_bytes > large_segment_bytes ? first_bytes : static_cast<std::size_t>(chunk);
  return make_for_workers(workers, [&](unsigned worker) {
    // One segment more than in a chunk, because an empty last segment may follow.
    return std::make_unique<WorkerBuffers>(worker, bytes, in_place_ ? 0 : bytes,
                                           static_cast<std::size_t>(per_chunk_) + 1,
                                           in_order_.pages ? &pages_ : nullptr);
  });
}

bool Pipeline::is_staged(std::uint64_t number) const noexcept {
  return !in_order_.reads && !in_order_.writes && !keeps_input_ && options_.overlap &&
         !options_.compute && count_ && number < *count_ && layout_.first_bytes % 16 == 0 &&
         layout_.segment_bytes % 16 == 0;
}

WorkerStages::Next Pipeline::read(unsigned worker, std::uint64_t number) {
  WorkerBuffers& buffers = *buffers_[worker];
  Chunk& chunk = chunks_[worker];
  chunk = Chunk{};
  chunk.index = number;
  if (is_staged(number)) {
    const std::uint64_t left = (*count_ - number) * per_chunk_ * layout_.segment_bytes;
    buffers.stage(cipher_.stage(static_cast<std::size_t>(per_chunk_), layout_.segment_bytes, left));
  }
  if (!with_staging(buffers, [&] { return stages_->read(chunk, buffers); })) {
    buffers.stage(nullptr);
    return Next::none;
  }
  return chunk.last || !chunk.defect.empty() ? Next::last_chunk : Next::chunk;
}

void Pipeline::compute(unsigned worker) {
  WorkerBuffers& buffers = *buffers_[worker];
  with_staging(buffers, [&] { stages_->compute(chunks_[worker], buffers); });
}

void Pipeline::write(unsigned worker) {
  WorkerBuffers& buffers = *buffers_[worker];
  with_staging(buffers, [&] { stages_->write(chunks_[worker], buffers); });
  buffers.stage(nullptr);
}

void Pipeline::crypt(const SegmentCipher& cipher, Direction direction,
                     WorkerBuffers& buffers) const {
  const std::span<SegmentCipher::Segment> segments = buffers.segments;
  if (options_.compute) {
    options_.compute(buffers.worker(), segments);
    return;
  }
  if (buffers.staging() != nullptr) {
    buffers.staging()->crypt(direction, segments);
    return;
  }
  if (compute_.threads() == 1) {
    cipher.crypt(direction, segments);
    return;
  }
  // A GPU gets all segments in one call. A CPU's ranges have at least 32 KiB.
  constexpr std::uint64_t min_bytes = 32768;
  const std::uint64_t min_segments =
      cipher.launch_bytes() != 0 ? segments.size()
                                 : std::max<std::uint64_t>(min_bytes / layout_.segment_bytes, 1);
  compute_.run(segments.size(), min_segments,
               [&](unsigned, std::uint64_t begin, std::uint64_t end) {
                 cipher.crypt(direction, segments.subspan(static_cast<std::size_t>(begin),
                                                          static_cast<std::size_t>(end - begin)));
               });
}

void Pipeline::report(WorkerBuffers& buffers, std::uint64_t plain_bytes) {
  buffers.stage(nullptr);  // the caller's function may need a stream
  if (!options_.progress) return;
  const std::lock_guard lock(progress_mutex_);
  done_ += plain_bytes;
  options_.progress(done_);
}

MutableBytes WorkerBuffers::in(std::size_t bytes, std::size_t kept) {
  in_begin_ = 0;
  if (in_.size() < bytes + tag_bytes_) {
    IoBuffer larger(bytes + tag_bytes_);
    std::copy_n(in_.data(), kept, larger.data());
    in_ = std::move(larger);
  }
  return in_.span().first(bytes);
}

MutableBytes WorkerBuffers::in_at(std::uint64_t offset, std::size_t bytes) {
  if (staging_) {
    return staging_->in().subspan(static_cast<std::size_t>(offset % page_bytes), bytes);
  }
  in_begin_ = static_cast<std::size_t>(offset % page_bytes);
  if (in_.size() < in_begin_ + bytes + tag_bytes_) in_ = IoBuffer(in_begin_ + bytes + tag_bytes_);
  return in_.span().subspan(in_begin_, bytes);
}

void WorkerBuffers::read_sealed(const PositionalSource& source, const SegmentLayout& layout,
                                std::uint64_t sealed_bytes, Chunk& chunk) {
  const std::uint64_t begin = layout.sealed_offset(chunk.first);
  const std::uint64_t end =
      chunk.last ? sealed_bytes : layout.sealed_offset(chunk.first + chunk.segments);
  const MutableBytes in = in_at(begin, static_cast<std::size_t>(end - begin));
  read_exactly(source, begin, in);
  chunk.in = in;
}

MutableBytes WorkerBuffers::out_at(std::uint64_t offset, std::size_t bytes) {
  if (staging_) {
    return staging_->out().subspan(static_cast<std::size_t>(offset % page_bytes), bytes);
  }
  if (in_place_) return in_.span().subspan(in_begin_, bytes);
  return out_.take(static_cast<std::size_t>(offset % page_bytes), bytes);
}

PipeReader::PipeReader(Source& source, const SegmentLayout& layout, Direction direction,
                       std::uint64_t per_chunk)
    : source_(source),
      layout_(layout),
      seals_(direction == Direction::encrypt),
      per_chunk_(per_chunk),
      following_(layout.last == SegmentLayout::Last::shorter ? 0
                 : seals_                                    ? 1
                                                             : std::size_t{segment_tag_bytes}) {
  // All that it may need, as of the workers' buffers.
  const std::uint64_t segment = layout.segment_bytes + segment_tag_bytes;
  ahead_.reserve(following_ + static_cast<std::size_t>(per_chunk > 1 ? segment : 0));
}

std::size_t PipeReader::bytes_of(std::uint64_t segments) const noexcept {
  const std::uint64_t end = next_ + segments;
  return static_cast<std::size_t>(seals_
                                      ? layout_.plain_offset(end) - layout_.plain_offset(next_)
                                      : layout_.sealed_offset(end) - layout_.sealed_offset(next_));
}

bool PipeReader::read(WorkerBuffers& buffers, Chunk& chunk) {
  const std::size_t least = bytes_of(1) + following_;
  const std::size_t wanted = bytes_of(per_chunk_) + following_;
  MutableBytes buffer = buffers.in(std::min(wanted, std::max(first_bytes, ahead_.size())));
  std::size_t held = ahead_.size();
  std::copy(ahead_.begin(), ahead_.end(), buffer.begin());
  Source::Ready ready;
  for (;;) {
    const std::size_t missing = least - std::min(least, held);
    const MutableBytes rest = buffer.subspan(held);
    ready = source_.read_ready(rest, std::min(missing, rest.size()));
    held += ready.bytes;
    if (ready.ended || held < buffer.size() || held == wanted) break;
    buffer = buffers.in(std::min(wanted, 2 * buffer.size()), held);
  }
  chunk.first = next_;
  chunk.in = buffer.first(held);
  if (ready.ended || held < least) return true;
  // Segments that are known not to be the last one.
  chunk.segments = 1 + (held - least) / (bytes_of(2) - bytes_of(1));
  const std::size_t whole = bytes_of(chunk.segments);
  ahead_.assign(buffer.begin() + static_cast<std::ptrdiff_t>(whole),
                buffer.begin() + static_cast<std::ptrdiff_t>(held));
  chunk.in = buffer.first(whole);
  next_ += chunk.segments;
  return false;
}

}  // namespace paraes::detail
