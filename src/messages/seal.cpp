// Seals a message from a source to a sink.

#include <algorithm>
#include <atomic>
#include <optional>

#include "paraes/messages.hpp"
#include "src/messages/pipeline.hpp"
#include "src/messages/segments.hpp"

namespace paraes {
namespace {

using detail::Chunk;
using detail::WorkerBuffers;

class Seal final : public detail::ChunkStages {
 public:
  Seal(Source& source, const Message& message, Sink& sink, const TransferOptions& options)
      : layout_(message.layout()),
        header_(message.header()),
        share_(options.share),
        pipeline_(message, options, source.remaining(), false),
        per_chunk_(pipeline_.segments_per_chunk()),
        source_(source),
        file_(dynamic_cast<PositionalSource*>(&source)),
        pipe_(source, layout_, Direction::encrypt, per_chunk_),
        sink_(sink),
        file_sink_(dynamic_cast<PositionalSink*>(&sink)) {}

  TransferResult run() {
    if (file_ != nullptr) {
      bytes_ = source_.remaining().value_or(0);
      start_ = file_->size() - bytes_;
      segments_ = layout_.segments_of(bytes_);
    }
    pipeline_.check_share(file_ != nullptr && file_sink_ != nullptr);
    std::optional<std::uint64_t> count;
    if (file_ != nullptr) {
      chunks_ = pipeline_.share_of((segments_ + per_chunk_ - 1) / per_chunk_);
      count = chunks_.end - chunks_.begin;
    }
    if (share_.index == 0) sink_.write(header_);
    TransferResult result;
    result.times = pipeline_.run(
        *this, source_,
        {.reads = file_ == nullptr, .writes = file_sink_ == nullptr, .pages = sink_.takes_pages()},
        count);
    source_.check_unchanged();
    result.plain_bytes = bytes_;
    result.sealed_bytes = layout_.sealed_bytes(bytes_);
    result.segments = share_.count == 1 ? segments_ : done_.load();
    return result;
  }

 private:
  bool read(Chunk& chunk, WorkerBuffers& buffers) override {
    if (file_ != nullptr) return read_file(chunk, buffers);
    chunk.last = pipe_.read(buffers, chunk);
    const std::uint64_t end = layout_.plain_offset(chunk.first) + chunk.in.size();
    if (chunk.last) {
      bytes_ = end;
      segments_ = layout_.segments_of(bytes_);
      chunk.segments = segments_ - chunk.first;
    } else if (chunk.first + chunk.segments >= layout_.max_segments) {
      static_cast<void>(layout_.segments_of(end + layout_.segment_bytes));
    }
    return true;
  }

  bool read_file(Chunk& chunk, WorkerBuffers& buffers) {
    chunk.index += chunks_.begin;
    if (chunk.index >= chunks_.end) return false;
    chunk.first = chunk.index * per_chunk_;
    chunk.segments = std::min(per_chunk_, segments_ - chunk.first);
    chunk.last = chunk.first + chunk.segments == segments_;
    const std::uint64_t begin = layout_.plain_offset(chunk.first);
    const std::uint64_t end = chunk.last ? bytes_ : layout_.plain_offset(chunk.first + per_chunk_);
    const MutableBytes in = buffers.in_at(start_ + begin, static_cast<std::size_t>(end - begin));
    read_exactly(*file_, start_ + begin, in);
    chunk.in = in;
    return true;
  }

  void compute(Chunk& chunk, WorkerBuffers& buffers) override {
    chunk.out = buffers.out_at(
        layout_.sealed_offset(chunk.first),
        static_cast<std::size_t>(chunk.in.size() + chunk.segments * segment_tag_bytes));
    const SegmentRange range{layout_, chunk.first, chunk.segments, chunk.last};
    range.list(Direction::encrypt, chunk.in, chunk.out, buffers.segments);
    pipeline_.crypt(Direction::encrypt, buffers);
  }

  void write(const Chunk& chunk, WorkerBuffers& buffers) override {
    if (file_sink_ != nullptr) {
      file_sink_->write_at(layout_.sealed_offset(chunk.first), chunk.out);
    } else {
      buffers.write(sink_, chunk.out);
    }
    done_ += chunk.segments;
    pipeline_.report(buffers, chunk.in.size());
  }

  const SegmentLayout layout_;
  const Bytes header_;
  const Share share_;
  detail::Pipeline pipeline_;
  const std::uint64_t per_chunk_;
  Source& source_;
  PositionalSource* file_;  // the source, or nullptr if it is read in order
  detail::PipeReader pipe_;
  Sink& sink_;
  PositionalSink* file_sink_;
  std::uint64_t start_ = 0;  // offset of the plaintext in the file
  std::uint64_t bytes_ = 0;
  std::uint64_t segments_ = 0;
  detail::Pipeline::Range chunks_;       // of this share of a file
  std::atomic<std::uint64_t> done_ = 0;  // number of segments written
};

}  // namespace

TransferResult seal_message(Source& source, const Message& message, Sink& sink,
                            const TransferOptions& options) {
  return Seal(source, message, sink, options).run();
}

}  // namespace paraes
