// Gives the plaintext of a message to another message, or its segments to another header.

#include <algorithm>
#include <cstdint>
#include <mutex>

#include "paraes/error.hpp"
#include "paraes/messages.hpp"
#include "paraes/threads.hpp"
#include "src/core/stopwatch.hpp"
#include "src/messages/pipeline.hpp"
#include "src/messages/segments.hpp"

namespace paraes {
namespace {

using detail::Chunk;
using detail::WorkerBuffers;

// Opens all segments, and writes them sealed by another message, or as they were.
class Reseal final : public detail::ChunkStages {
 public:
  // `to`: nullptr to write them as they were, behind `header`.
  Reseal(PositionalSource& source, const Message& from, const Message* to, Bytes header,
         PositionalSink& sink, const TransferOptions& options)
      : options_(without_other_processes(options)),
        from_(from),
        to_(to),
        header_(header),
        layout_(from.layout()),
        pipeline_(from, options_, source.remaining(), true),
        per_chunk_(pipeline_.segments_per_chunk()),
        source_(source),
        sink_(sink) {}

  TransferResult run() {
    source_bytes_ = source_.size();
    extent_ = layout_.extent_of(source_bytes_);
    sink_.write(header_);
    TransferResult result;
    result.times =
        pipeline_.run(*this, source_, {}, (extent_.segments + per_chunk_ - 1) / per_chunk_);
    source_.check_unchanged();
    result.plain_bytes = extent_.plain_bytes;
    result.sealed_bytes = source_bytes_ - layout_.header_bytes + header_.size();
    result.segments = extent_.segments;
    return result;
  }

 private:
  bool read(Chunk& chunk, WorkerBuffers& buffers) override {
    chunk.first = chunk.index * per_chunk_;
    if (chunk.first >= extent_.segments) return false;
    chunk.segments = std::min(per_chunk_, extent_.segments - chunk.first);
    chunk.last = chunk.first + chunk.segments == extent_.segments;
    buffers.read_sealed(source_, layout_, source_bytes_, chunk);
    return true;
  }

  // Opens each segment to where it is sealed again: `out` has the same segments as `in`.
  void compute(Chunk& chunk, WorkerBuffers& buffers) override {
    chunk.out = buffers.out_at(target_of(layout_.sealed_offset(chunk.first)), chunk.in.size());
    const SegmentRange range{layout_, chunk.first, chunk.segments, chunk.last};
    range.list(Direction::decrypt, chunk.in, chunk.out, buffers.segments);
    for (SegmentCipher::Segment& segment : buffers.segments) {
      segment.out = {chunk.out.data() + (segment.in.data() - chunk.in.data()), segment.out.size()};
    }
    pipeline_.crypt(Direction::decrypt, buffers);
    if (to_ == nullptr || first_bad(buffers.segments) != nullptr) return;
    for (SegmentCipher::Segment& segment : buffers.segments) {
      // The tag follows the plaintext.
      segment.in = segment.out;
      segment.out = {segment.out.data(), segment.out.size() + segment_tag_bytes};
    }
    pipeline_.crypt(to_->cipher(), Direction::encrypt, buffers);
    for (SegmentCipher::Segment& segment : buffers.segments) segment.intact = true;
  }

  void write(const Chunk& chunk, WorkerBuffers& buffers) override {
    if (const auto* const bad = first_bad(buffers.segments); bad != nullptr) {
      throw bad_segment(layout_, from_.commits() || bad->index != 0, bad->index);
    }
    const Bytes data = to_ == nullptr ? chunk.in : Bytes(chunk.out);
    sink_.write_at(target_of(layout_.sealed_offset(chunk.first)), data);
    pipeline_.report(buffers, chunk.in.size() - chunk.segments * segment_tag_bytes);
  }

  // Where in the sink a segment at this offset of the source goes.
  [[nodiscard]] std::uint64_t target_of(std::uint64_t offset) const {
    return offset - layout_.header_bytes + header_.size();
  }

  [[nodiscard]] static TransferOptions without_other_processes(TransferOptions options) {
    options.share = {};
    options.compute = nullptr;
    options.workers = 0;
    return options;
  }

  const TransferOptions options_;
  const Message& from_;
  const Message* to_;
  const Bytes header_;
  const SegmentLayout layout_;
  detail::Pipeline pipeline_;
  const std::uint64_t per_chunk_;
  PositionalSource& source_;
  PositionalSink& sink_;
  SegmentLayout::Extent extent_;
  std::uint64_t source_bytes_ = 0;
};

}  // namespace

TransferResult reseal_message(PositionalSource& source, const Message& from, const Message& to,
                              PositionalSink& sink, const TransferOptions& options) {
  SegmentLayout layout = to.layout();
  layout.header_bytes = from.layout().header_bytes;
  if (!(layout == from.layout())) {
    throw InvalidArgument("the two messages do not have the same segments");
  }
  return Reseal(source, from, &to, to.header(), sink, options).run();
}

TransferResult verify_and_replace_header(PositionalSource& source, const Message& from,
                                         Bytes header, PositionalSink& sink,
                                         const TransferOptions& options) {
  return Reseal(source, from, nullptr, header, sink, options).run();
}

TransferResult replace_header(FileSource& source, const SegmentLayout& from, Bytes header,
                              FileSink& sink, const TransferOptions& options) {
  const SegmentLayout::Extent extent = from.extent_of(source.size());
  const std::uint64_t begin = from.header_bytes;
  const std::uint64_t bytes = source.size() - begin;
  sink.write(header);
  TransferResult result;
  constexpr std::uint64_t range = std::uint64_t{8} << 20;
  std::mutex mutex;
  std::uint64_t done = 0;
  const int threads = options.threads == 0 ? available_cores() : options.threads;
  {
    const Stopwatch copying(result.times.write);
    for_each_job(static_cast<unsigned>(threads), (bytes + range - 1) / range,
                 [&](unsigned, std::uint64_t job) {
                   const std::uint64_t from_at = job * range;
                   const std::uint64_t n = std::min(range, bytes - from_at);
                   sink.copy_at(header.size() + from_at, source, begin + from_at, n);
                   if (!options.progress) return;
                   const std::lock_guard lock(mutex);
                   done += n;
                   options.progress(std::min(done, extent.plain_bytes));
                 });
  }
  source.check_unchanged();
  result.plain_bytes = extent.plain_bytes;
  result.sealed_bytes = header.size() + bytes;
  result.segments = extent.segments;
  return result;
}

}  // namespace paraes
