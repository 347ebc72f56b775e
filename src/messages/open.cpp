// Opens a message, or a range of one, from a source to a sink.

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "paraes/error.hpp"
#include "paraes/messages.hpp"
#include "src/messages/pipeline.hpp"
#include "src/messages/salvage.hpp"
#include "src/messages/segments.hpp"

namespace paraes {
namespace {

using detail::Chunk;
using detail::WorkerBuffers;

class Open final : public detail::ChunkStages {
 public:
  Open(Source& source, const Message& message, Sink* sink, const OpenOptions& options)
      : options_(options),
        message_(message),
        layout_(message.layout()),
        pipeline_(message, options, source.remaining(), options.salvage != nullptr),
        per_chunk_(pipeline_.segments_per_chunk()),
        source_(source),
        file_(dynamic_cast<PositionalSource*>(&source)),
        pipe_(source, layout_, Direction::decrypt, per_chunk_),
        sink_(sink),
        file_sink_(dynamic_cast<PositionalSink*>(sink)) {
    if (options.salvage != nullptr) salvage_.emplace(*options.salvage);
  }

  OpenResult run() {
    if (file_ != nullptr) {
      plan_file();
    } else if (options_.offset != 0 || options_.length) {
      throw InvalidArgument("a range of a message can be opened only in a file, not in a pipe");
    }
    pipeline_.check_share(file_ != nullptr && (sink_ == nullptr || file_sink_ != nullptr));
    std::optional<std::uint64_t> count;
    if (file_ != nullptr) count = take_share();
    const bool ordered_writes = sink_ != nullptr && file_sink_ == nullptr;
    OpenResult result;
    result.times = pipeline_.run(*this, source_,
                                 {.reads = file_ == nullptr,
                                  .writes = ordered_writes,
                                  .pages = ordered_writes && sink_->takes_pages()},
                                 count);
    source_.check_unchanged();
    result.truncated = truncated_;
    result.plain_bytes = range_end_ - range_begin_;
    result.segments = opened_;
    result.sealed_bytes = sealed_bytes_;
    result.empty_last = extent_.empty_last;
    if (salvage_) finish(result);
    return result;
  }

 private:
  // ---- The segments to open

  void plan_file() {
    sealed_bytes_ = file_->size();
    try {
      extent_ = layout_.extent_of(sealed_bytes_);
    } catch (const IntegrityError&) {
      if (!salvage_ || sealed_bytes_ < layout_.header_bytes) throw;
      take_truncated();
    }
    const std::uint64_t bytes = extent_.plain_bytes;
    if (!detail::is_within(options_.offset, options_.length.value_or(0), bytes)) {
      if (!salvage_) check_last_segment();
      throw InvalidArgument("the range goes beyond the end of the message, which has " +
                            std::to_string(bytes) + " bytes");
    }
    range_begin_ = options_.offset;
    range_end_ = options_.length ? range_begin_ + *options_.length : bytes;
    const detail::SegmentInterval interval = detail::segments_of_range(
        sizes_of(layout_), detail::contents_of(extent_), range_begin_, range_end_);
    first_segment_ = interval.first;
    end_segment_ = interval.end;
  }

  // Throws BadSegment unless the last segment authenticates as the last one: only that proves that
  // the size of the file is the size of the message.
  void check_last_segment() const {
    const std::uint64_t last = extent_.segments - 1;
    const std::uint64_t begin = layout_.sealed_offset(last);
    std::vector<std::uint8_t> sealed(static_cast<std::size_t>(sealed_bytes_ - begin));
    std::vector<std::uint8_t> plain(sealed.size() - segment_tag_bytes);
    read_exactly(*file_, begin, sealed);
    file_->check_unchanged();
    SegmentCipher::Segment segment{.index = last, .last = true, .in = sealed, .out = plain};
    message_.cipher().crypt(Direction::decrypt, {&segment, 1});
    secure_zero(plain.data(), plain.size());
    if (!segment.intact) throw bad_segment(layout_, message_.commits(), last);
  }

  void take_truncated() {
    const detail::Truncated rest = detail::truncated_extent(layout_, sealed_bytes_);
    extent_ = rest.extent;
    sealed_bytes_ = rest.sealed_bytes;
    truncated_ = true;
  }

  [[noreturn]] void throw_too_many() const {
    throw IntegrityError("the input is damaged: it has more than " +
                         std::to_string(layout_.max_segments) +
                         " segments, the most that its format allows");
  }

  // Reduces the segments to those of this share; returns the number of their chunks.
  std::uint64_t take_share() {
    const std::uint64_t begin = first_segment_;
    const detail::Pipeline::Range share =
        pipeline_.share_of((end_segment_ - begin + per_chunk_ - 1) / per_chunk_);
    first_segment_ = begin + share.begin * per_chunk_;
    end_segment_ = std::min(end_segment_, begin + share.end * per_chunk_);
    has_first_segment_ = first_segment_ == 0;
    return share.end - share.begin;
  }

  // ---- The stages of a chunk

  bool read(Chunk& chunk, WorkerBuffers& buffers) override {
    if (file_ != nullptr) return read_file(chunk, buffers);
    const bool ended = pipe_.read(buffers, chunk);
    const bool too_many = !ended && chunk.first + chunk.segments >= layout_.max_segments;
    if (!ended && !too_many) return true;
    const std::uint64_t begin = layout_.sealed_offset(chunk.first);
    sealed_bytes_ = begin + chunk.in.size();
    try {
      if (too_many) throw_too_many();
      extent_ = layout_.extent_of(sealed_bytes_);
      chunk.last = true;
    } catch (const IntegrityError& error) {
      take_truncated();
      chunk.defect = error.what();
      chunk.in = chunk.in.first(static_cast<std::size_t>(sealed_bytes_ - begin));
    }
    chunk.segments = extent_.segments - chunk.first;
    range_end_ = extent_.plain_bytes;
    return true;
  }

  bool read_file(Chunk& chunk, WorkerBuffers& buffers) {
    chunk.first = first_segment_ + chunk.index * per_chunk_;
    if (chunk.first >= end_segment_) return false;
    chunk.segments = std::min(per_chunk_, end_segment_ - chunk.first);
    chunk.last = chunk.first + chunk.segments == extent_.segments;
    buffers.read_sealed(*file_, layout_, sealed_bytes_, chunk);
    return true;
  }

  void compute(Chunk& chunk, WorkerBuffers& buffers) override {
    // Where the range begins in the chunk, so that the offset wraps around, the page is still
    // right.
    chunk.out = buffers.out_at(
        layout_.plain_offset(chunk.first) - range_begin_,
        static_cast<std::size_t>(chunk.in.size() - chunk.segments * segment_tag_bytes));
    const SegmentRange range{layout_, chunk.first, chunk.segments, chunk.last};
    range.list(Direction::decrypt, chunk.in, chunk.out, buffers.segments);
    // The bytes behind the last segment are none: it may still be that of the message.
    const bool cut = !chunk.defect.empty() && !buffers.segments.empty();
    std::vector<std::uint8_t> end;  // its ciphertext, where it is overwritten
    if (cut && has_marks() && is_in_place(buffers.segments.back())) {
      const Bytes in = buffers.segments.back().in;
      end.assign(in.begin(), in.end());
    }
    pipeline_.crypt(Direction::decrypt, buffers);
    if (salvage_) {
      for (SegmentCipher::Segment& segment : buffers.segments) {
        open_with_other_mark(segment, segment.in);
      }
    } else if (cut) {
      SegmentCipher::Segment& segment = buffers.segments.back();
      open_with_other_mark(segment, end.empty() ? segment.in : Bytes(end));
    }
  }

  static bool is_in_place(const SegmentCipher::Segment& segment) {
    return segment.in.data() == segment.out.data();
  }

  // Counted nonces do not mark the last segment.
  [[nodiscard]] bool has_marks() const {
    return message_.parts().secret.nonces == SegmentCipher::Nonces::prefixed;
  }

  // A segment that does not authenticate as the last one may be one that others follow, if the end
  // of the message is missing. One that does not authenticate as such may be the last one, if other
  // bytes follow the message. `in` is its ciphertext.
  void open_with_other_mark(SegmentCipher::Segment& segment, Bytes in) {
    if (segment.intact || !has_marks()) return;
    SegmentCipher::Segment other = segment;
    other.in = in;
    other.last = !segment.last;
    message_.cipher().crypt(Direction::decrypt, {&other, 1});
    segment.intact = other.intact;
    if (segment.intact) truncated_ = true;
  }

  void write(const Chunk& chunk, WorkerBuffers& buffers) override {
    if (salvage_) {
      salvage_->add(layout_.plain_offset(chunk.first), buffers.segments);
    } else if (const auto* const bad = first_bad(buffers.segments); bad != nullptr) {
      // A sink in order gets the intact segments before the bad one. For a positional sink the
      // caller discards the output.
      if (file_sink_ == nullptr) write_plain(chunk, buffers, layout_.plain_offset(bad->index));
      // A later segment of this share is reported only if its first one is intact.
      const bool key_fits = message_.commits() || (has_first_segment_ && bad->index != 0);
      throw bad_segment(layout_, key_fits, bad->index);
    }
    write_plain(chunk, buffers, layout_.plain_offset(chunk.first) + chunk.out.size());
    opened_ += chunk.segments;
    if (!chunk.defect.empty() && !salvage_) throw IntegrityError(chunk.defect);
    pipeline_.report(buffers, chunk.out.size());
  }

  // Writes the plaintext of a chunk up to offset `end`, as far as it is in the requested range.
  void write_plain(const Chunk& chunk, const WorkerBuffers& buffers, std::uint64_t end) {
    if (sink_ == nullptr) return;
    const std::uint64_t begin = layout_.plain_offset(chunk.first);
    const std::uint64_t from = std::max(begin, range_begin_);
    const std::uint64_t to = file_ == nullptr ? end : std::min(end, range_end_);
    if (from >= to) return;
    const Bytes data = Bytes(chunk.out).subspan(static_cast<std::size_t>(from - begin),
                                                static_cast<std::size_t>(to - from));
    if (file_sink_ != nullptr) {
      file_sink_->write_at(from - range_begin_, data);
    } else {
      buffers.write(*sink_, data);
    }
  }

  void finish(OpenResult& result) {
    result.intact = salvage_->intact();
    const Share& share = options_.share;
    if (truncated_ && share.index + 1 == share.count) salvage_->add_end(extent_.plain_bytes);
    if (share.count == 1) finish_salvage(message_, result, salvage_->bad());
  }

  const OpenOptions& options_;
  const Message& message_;
  const SegmentLayout layout_;
  detail::Pipeline pipeline_;
  const std::uint64_t per_chunk_;
  std::optional<detail::SalvageList> salvage_;
  Source& source_;
  PositionalSource* file_;  // the source, or nullptr if it is read in order
  detail::PipeReader pipe_;
  Sink* sink_;
  PositionalSink* file_sink_;
  SegmentLayout::Extent extent_;
  std::uint64_t sealed_bytes_ = 0;
  std::uint64_t first_segment_ = 0;  // of this share of a file
  std::uint64_t end_segment_ = 0;
  bool has_first_segment_ = true;  // in this share of the range
  std::uint64_t range_begin_ = 0;  // of the plaintext
  std::uint64_t range_end_ = 0;
  std::atomic<std::uint64_t> opened_ = 0;
  std::atomic<bool> truncated_ = false;
};

}  // namespace

OpenResult open_message(Source& source, const Message& message, Sink& sink,
                        const OpenOptions& options) {
  return open_message(source, message, &sink, options);
}

OpenResult open_message(Source& source, const Message& message, Sink* sink,
                        const OpenOptions& options) {
  return Open(source, message, sink, options).run();
}

}  // namespace paraes
