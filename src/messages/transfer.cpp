// Whole messages from a source to a sink. Each worker takes the next piece, a run of segments, and
// reads, computes and writes it by itself: so the three overlap on all cores without handing data
// from thread to thread. Pipes are read and written in turns.

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "paraes/error.hpp"
#include "paraes/messages.hpp"
#include "paraes/threads.hpp"
#include "src/core/executor.hpp"
#include "src/core/stopwatch.hpp"
#include "src/core/workers.hpp"
#include "src/messages/bad_segment.hpp"
#include "src/messages/large_segments.hpp"

namespace paraes {
namespace {

// What a worker holds of plaintext and of ciphertext: both stay in a second-level cache from the
// read to the write, and the system calls are still few.
constexpr std::uint64_t piece_bytes = std::uint64_t{256} << 10;
// Beyond what the threads that compute hold: two more wait for pipes.
constexpr unsigned waiting_workers = 2;
// Of all workers' buffers together.
constexpr std::uint64_t most_buffered_bytes = std::uint64_t{32} << 20;

// A run of segments on its way.
struct Piece {
  std::uint64_t index = 0;     // of the piece
  std::uint64_t first = 0;     // its first segment
  std::uint64_t segments = 0;  // how many
  bool last = false;           // its last segment is that of the message
  Bytes in;
  MutableBytes out;
  std::string trouble;  // why the input cannot be whole behind this piece
};

// What one worker owns.
struct Desk {
  unsigned worker;
  IoBuffer in;
  std::unique_ptr<IoBuffer> out;                 // none: in place
  std::vector<SegmentCipher::Segment> segments;  // of the piece
  PhaseTimes times;

  Desk(unsigned number, std::size_t in_bytes, std::size_t out_bytes)
      : worker(number), in(in_bytes) {
    if (out_bytes != 0) out = std::make_unique<IoBuffer>(out_bytes);
  }
  [[nodiscard]] MutableBytes target() noexcept { return out ? out->span() : in.span(); }
};

// What sealing and opening share: pieces, workers, buffers, clocks.
class Transfer {
 public:
  // `keep_input`: what was read must survive the computation.
  Transfer(const Message& message, const TransferOptions& options, bool keep_input)
      : layout_(message.layout()),
        cipher_(message.cipher()),
        options_(options),
        compute_(options.overlap ? 1 : options.threads),
        per_piece_(std::max<std::uint64_t>(
            std::max<std::uint64_t>(piece_bytes, cipher_.run_bytes()) / layout_.segment_bytes, 1)),
        in_place_(per_piece_ == 1 && !keep_input) {}
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  virtual ~Transfer() = default;

 protected:
  // Fills piece.in and everything else but piece.out; false: there is no next piece. `turn` is
  // held by the caller when pieces come in order.
  virtual bool read(Piece& piece, Desk& desk) = 0;
  virtual void compute(Piece& piece, Desk& desk) = 0;
  // Writes what there is of the piece and then throws what is wrong with it.
  virtual void write(const Piece& piece, Desk& desk) = 0;

  void set_orders(bool ordered_reads, bool ordered_writes) {
    ordered_reads_ = ordered_reads;
    ordered_writes_ = ordered_writes;
  }

  // `pieces`: how many there are, if that is known.
  void run_pieces(Source& source, std::optional<std::uint64_t> pieces) {
    source_ = &source;
    run_workers(worker_count(pieces), [this](unsigned worker) { work(worker); });
    sequence_.rethrow();
  }

  [[nodiscard]] const PhaseTimes& times() const { return times_; }

  [[nodiscard]] std::uint64_t plain_begin(std::uint64_t piece) const {
    return layout_.plain_offset(piece * per_piece_);
  }
  [[nodiscard]] std::uint64_t sealed_begin(std::uint64_t piece) const {
    return layout_.sealed_offset(piece * per_piece_);
  }

  // The pieces of this share are [share_begin(n), share_begin(n) + …) of `pieces`.
  [[nodiscard]] std::uint64_t share_begin(std::uint64_t pieces) const {
    return share_begin(pieces, options_.share.index);
  }
  [[nodiscard]] std::uint64_t share_end(std::uint64_t pieces) const {
    return share_begin(pieces, options_.share.index + 1);
  }
  [[nodiscard]] const Share& share() const { return options_.share; }

  void check_share(bool positional) const {
    if (options_.share.count == 0 || options_.share.index >= options_.share.count) {
      throw InvalidArgument("a share has an index below their count");
    }
    if (options_.share.count > 1 && !positional) {
      throw InvalidArgument("a message is shared between a source and a sink that take any offset");
    }
  }

  // Calls body(run) for the segments of a piece, cut over the threads that compute.
  template <class Body>
  void each_run(const Desk& desk, std::span<SegmentCipher::Segment> segments,
                const Body& body) const {
    if (options_.compute) {
      options_.compute(desk.worker, segments);
      return;
    }
    constexpr std::uint64_t least_bytes = 32768;
    const bool on_gpu = cipher_.run_bytes() != 0;
    const std::uint64_t least =
        on_gpu ? segments.size() : std::max<std::uint64_t>(least_bytes / layout_.segment_bytes, 1);
    compute_.run(segments.size(), least, [&](unsigned, std::uint64_t begin, std::uint64_t end) {
      body(
          segments.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)));
    });
  }

  void report(std::uint64_t plain_bytes) {
    if (!options_.progress) return;
    const std::lock_guard lock(progress_mutex_);
    done_ += plain_bytes;
    options_.progress(done_);
  }

  const SegmentLayout layout_;
  const SegmentCipher& cipher_;

 private:
  [[nodiscard]] std::uint64_t share_begin(std::uint64_t pieces, unsigned index) const {
    // Without an overflow, for any number of pieces.
    const std::uint64_t count = options_.share.count;
    return pieces / count * index + pieces % count * index / count;
  }

  [[nodiscard]] std::size_t plain_capacity() const {
    // One more segment, where the last one is empty, and the byte that shows the end.
    return static_cast<std::size_t>(per_piece_ * layout_.segment_bytes) + 1;
  }
  [[nodiscard]] std::size_t sealed_capacity() const {
    return plain_capacity() + static_cast<std::size_t>((per_piece_ + 1) * segment_tag_bytes);
  }

  [[nodiscard]] unsigned worker_count(std::optional<std::uint64_t> pieces) const {
    if (!options_.overlap || layout_.segment_bytes > large_segment_bytes) return 1;
    if (options_.compute) {
      const std::uint64_t most = std::max<std::uint64_t>(pieces.value_or(options_.workers), 1);
      return static_cast<unsigned>(std::min<std::uint64_t>(options_.workers, most));
    }
    const int asked = options_.threads == 0 ? available_cores() : options_.threads;
    auto count = std::max<std::uint64_t>(static_cast<std::uint64_t>(asked), cipher_.run_threads());
    if (count > 1 && (ordered_reads_ || ordered_writes_)) count += waiting_workers;
    const std::uint64_t held = (in_place_ ? 1 : 2) * per_piece_ * layout_.segment_bytes;
    count = std::min(count, std::max<std::uint64_t>(most_buffered_bytes / held, 1));
    if (pieces) count = std::min(count, std::max<std::uint64_t>(*pieces, 1));
    return static_cast<unsigned>(count);
  }

  void work(unsigned worker) {
    std::uint64_t number = 0;
    try {
      if (std::optional<Desk> desk = make_desk(worker); desk) work_at(*desk, number);
    } catch (...) {
      sequence_.fail(number);
      source_->cancel();
    }
  }

  // Nothing for a worker that finds no memory: the others do its work, the first at least.
  [[nodiscard]] std::optional<Desk> make_desk(unsigned worker) const {
    try {
      return std::optional<Desk>(std::in_place, worker, sealed_capacity(),
                                 in_place_ ? 0 : sealed_capacity());
    } catch (const std::bad_alloc&) {
      if (worker == 0) throw;
      return std::nullopt;
    }
  }

  void work_at(Desk& desk, std::uint64_t& number) {
    Piece piece;
    while (take(piece, desk, number)) {
      {
        const Stopwatch watch(desk.times.kernel);
        compute(piece, desk);
      }
      if (ordered_writes_ && !sequence_.wait_turn(number)) break;
      {
        const Stopwatch watch(desk.times.write);
        write(piece, desk);
      }
      if (ordered_writes_) sequence_.done(number);
    }
    const std::lock_guard lock(progress_mutex_);
    times_ += desk.times;
  }

  bool take(Piece& piece, Desk& desk, std::uint64_t& number) {
    std::unique_lock<std::mutex> lock;
    if (ordered_reads_) {
      lock = std::unique_lock(read_mutex_);
      if (ended_) return false;
    }
    number = next_++;
    if (sequence_.stopped(number)) return false;
    piece = Piece{};
    piece.index = number;
    const Stopwatch watch(desk.times.read);
    const bool more = read(piece, desk);
    if (ordered_reads_ && (piece.last || !piece.trouble.empty())) ended_ = true;
    return more;
  }

  const TransferOptions& options_;
  const Executor compute_;

 protected:
  const std::uint64_t per_piece_;
  const bool in_place_;

 private:
  Source* source_ = nullptr;
  bool ordered_reads_ = false;
  bool ordered_writes_ = false;
  std::mutex read_mutex_;
  bool ended_ = false;  // under read_mutex_, where reads are in order
  std::atomic<std::uint64_t> next_ = 0;
  Sequence sequence_;
  std::mutex progress_mutex_;
  std::uint64_t done_ = 0;
  PhaseTimes times_;
};

// Reads pieces of a source in order, one byte ahead, so that the last piece is known as such.
class Reader {
 public:
  explicit Reader(Source& source) : source_(source) {}

  // Fills `buffer`, all but its last byte; returns how many bytes of it count. `ended`: nothing
  // follows them.
  std::size_t read(MutableBytes buffer, bool& ended) {
    std::size_t held = 0;
    if (ahead_) buffer[held++] = *ahead_;
    held += source_.read(buffer.subspan(held));
    ended = held < buffer.size();
    if (!ended) ahead_ = buffer[--held];
    return held;
  }

 private:
  Source& source_;
  std::optional<std::uint8_t> ahead_;
};

class Seal final : public Transfer {
 public:
  Seal(Source& source, const Message& message, Sink& sink, const TransferOptions& options)
      : Transfer(message, options, false),
        header_(message.header()),
        source_(source),
        file_(dynamic_cast<PositionalSource*>(&source)),
        reader_(source),
        sink_(sink),
        file_sink_(dynamic_cast<PositionalSink*>(&sink)) {}

  TransferResult run() {
    if (file_ != nullptr) {
      bytes_ = source_.remaining().value_or(0);
      start_ = file_->size() - bytes_;
      segments_ = layout_.segments_of(bytes_);
      const std::uint64_t pieces = (segments_ + per_piece_ - 1) / per_piece_;
      first_piece_ = share_begin(pieces);
      end_piece_ = share_end(pieces);
    }
    check_share(file_ != nullptr && file_sink_ != nullptr);
    set_orders(file_ == nullptr, file_sink_ == nullptr);
    if (share().index == 0) sink_.write(header_);
    run_pieces(source_, file_ == nullptr ? std::nullopt : std::optional(end_piece_ - first_piece_));
    source_.check_unchanged();
    TransferResult result;
    result.plain_bytes = bytes_;
    result.sealed_bytes = layout_.sealed_bytes(bytes_);
    result.segments = share().count == 1 ? segments_ : done_.load();
    result.times = times();
    return result;
  }

 private:
  bool read(Piece& piece, Desk& desk) override {
    piece.index += first_piece_;
    piece.first = piece.index * per_piece_;
    const std::uint64_t begin = plain_begin(piece.index);
    const auto full = static_cast<std::size_t>(plain_begin(piece.index + 1) - begin);
    if (file_ != nullptr) {
      if (piece.index >= end_piece_) return false;
      piece.segments = std::min(per_piece_, segments_ - piece.first);
      piece.last = piece.first + piece.segments == segments_;
      const MutableBytes in =
          desk.in.span().first(piece.last ? static_cast<std::size_t>(bytes_ - begin) : full);
      read_exactly(*file_, start_ + begin, in);
      piece.in = in;
      return true;
    }
    const std::size_t n = reader_.read(desk.in.span().first(full + 1), piece.last);
    piece.in = desk.in.span().first(n);
    if (piece.last) {
      bytes_ = begin + n;
      segments_ = layout_.segments_of(bytes_);
      piece.segments = segments_ - piece.first;
    } else {
      piece.segments = per_piece_;
      if (piece.first + piece.segments >= layout_.most_segments) {
        static_cast<void>(layout_.segments_of(begin + n + layout_.segment_bytes));
      }
    }
    return true;
  }

  void compute(Piece& piece, Desk& desk) override {
    const std::uint64_t plain = layout_.plain_offset(piece.first);
    const std::uint64_t sealed = layout_.sealed_offset(piece.first);
    piece.out = desk.target().first(
        static_cast<std::size_t>(piece.in.size() + piece.segments * segment_tag_bytes));
    desk.segments.clear();
    for (std::uint64_t k = 0; k < piece.segments; ++k) {
      const std::uint64_t index = piece.first + k;
      const bool last = piece.last && k + 1 == piece.segments;
      const auto from = static_cast<std::size_t>(layout_.plain_offset(index) - plain);
      const auto to = static_cast<std::size_t>(layout_.sealed_offset(index) - sealed);
      const auto n = last
                         ? piece.in.size() - from
                         : static_cast<std::size_t>(layout_.plain_offset(index + 1) - plain) - from;
      desk.segments.push_back({.index = index,
                               .last = last,
                               .in = piece.in.subspan(from, n),
                               .out = piece.out.subspan(to, n + segment_tag_bytes)});
    }
    each_run(desk, desk.segments,
             [&](std::span<SegmentCipher::Segment> run) { cipher_.seal(run); });
  }

  void write(const Piece& piece, Desk&) override {
    if (file_sink_ != nullptr) {
      file_sink_->write_at(layout_.sealed_offset(piece.first), piece.out);
    } else {
      sink_.write(piece.out);
    }
    done_ += piece.segments;
    report(piece.in.size());
  }

  const Bytes header_;
  Source& source_;
  PositionalSource* file_;
  Reader reader_;
  Sink& sink_;
  PositionalSink* file_sink_;
  std::uint64_t start_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t segments_ = 0;
  std::uint64_t first_piece_ = 0;  // of this share
  std::uint64_t end_piece_ = 0;
  std::atomic<std::uint64_t> done_ = 0;  // segments
};

class Open final : public Transfer {
 public:
  Open(Source& source, const Message& message, Sink* sink, const OpenOptions& options)
      : Transfer(message, options, options.salvage != nullptr),
        options_(options),
        message_(message),
        commits_(message.commits()),
        salvage_(options.salvage),
        source_(source),
        file_(dynamic_cast<PositionalSource*>(&source)),
        reader_(source),
        sink_(sink),
        file_sink_(dynamic_cast<PositionalSink*>(sink)) {}

  OpenResult run() {
    set_orders(file_ == nullptr, sink_ != nullptr && file_sink_ == nullptr);
    if (file_ != nullptr) {
      plan_file();
    } else if (options_.offset != 0 || options_.length) {
      throw InvalidArgument("a part of a message can only be opened in a file, not in a pipe");
    }
    check_share(file_ != nullptr && (sink_ == nullptr || file_sink_ != nullptr));
    take_share();
    run_pieces(source_,
               file_ == nullptr
                   ? std::nullopt
                   : std::optional((end_segment_ - first_segment_ + per_piece_ - 1) / per_piece_));
    source_.check_unchanged();
    OpenResult result;
    result.intact = authentic_;
    result.truncated = truncated_;
    result.plain_bytes = clip_end_ - clip_begin_;
    result.segments = opened_;
    result.sealed_bytes = sealed_bytes_;
    result.times = times();
    result.empty_last = extent_.empty_last;
    if (salvage_ != nullptr) {
      if (truncated_ && share().index + 1 == share().count) {
        salvage_->push_back({extent_.plain_bytes, 0});
      }
      if (share().count == 1) finish_salvage(message_, result, *salvage_);
    }
    return result;
  }

 private:
  // Of the segments that are wanted.
  void take_share() {
    const std::uint64_t pieces = (end_segment_ - first_segment_ + per_piece_ - 1) / per_piece_;
    const std::uint64_t begin = first_segment_;
    first_segment_ = begin + share_begin(pieces) * per_piece_;
    end_segment_ = std::min(end_segment_, begin + share_end(pieces) * per_piece_);
  }

  void plan_file() {
    sealed_bytes_ = file_->size();
    try {
      extent_ = layout_.extent_of(sealed_bytes_);
    } catch (const IntegrityError&) {
      if (salvage_ == nullptr || sealed_bytes_ < layout_.header_bytes) throw;
      extent_ = extent_of_rest();
    }
    clip_begin_ = options_.offset;
    clip_end_ = extent_.plain_bytes;
    if (options_.offset > extent_.plain_bytes ||
        (options_.length && *options_.length > extent_.plain_bytes - options_.offset)) {
      throw InvalidArgument("the part reaches beyond the end: the message has " +
                            std::to_string(extent_.plain_bytes) + " bytes");
    }
    if (options_.length) clip_end_ = clip_begin_ + *options_.length;
    // The segment behind the last byte is opened too if it is empty and the end was asked for: it
    // shows that nothing was cut off.
    first_segment_ = std::min(layout_.segment_at(clip_begin_), extent_.segments - 1);
    end_segment_ = clip_end_ == extent_.plain_bytes ? extent_.segments
                   : clip_end_ == clip_begin_       ? first_segment_
                                                    : layout_.segment_at(clip_end_ - 1) + 1;
    if (extent_.segments == 0) first_segment_ = end_segment_ = 0;
  }

  // Of a message without its end: whole segments, and a fragment that has room for a tag.
  [[nodiscard]] SegmentLayout::Extent extent_of_rest() {
    truncated_ = true;
    const std::uint64_t body = sealed_bytes_ - layout_.header_bytes;
    const std::uint64_t first = layout_.first_bytes + segment_tag_bytes;
    const std::uint64_t later = layout_.segment_bytes + segment_tag_bytes;
    SegmentLayout::Extent extent;
    std::uint64_t rest = body;
    if (body >= first) {
      extent.segments = 1 + (body - first) / later;
      rest = (body - first) % later;
    }
    if (rest >= segment_tag_bytes) {
      ++extent.segments;
    } else {
      sealed_bytes_ -= rest;
    }
    extent.plain_bytes = sealed_bytes_ - layout_.header_bytes - extent.segments * segment_tag_bytes;
    return extent;
  }

  bool read(Piece& piece, Desk& desk) override {
    if (file_ != nullptr) {
      piece.first = first_segment_ + piece.index * per_piece_;
      if (piece.first >= end_segment_) return false;
      piece.segments = std::min(per_piece_, end_segment_ - piece.first);
      piece.last = piece.first + piece.segments == extent_.segments;
      const std::uint64_t begin = layout_.sealed_offset(piece.first);
      const std::uint64_t end =
          piece.last ? sealed_bytes_ : layout_.sealed_offset(piece.first + piece.segments);
      const MutableBytes in = desk.in.span().first(static_cast<std::size_t>(end - begin));
      read_exactly(*file_, begin, in);
      piece.in = in;
      return true;
    }
    piece.first = piece.index * per_piece_;
    const std::uint64_t begin = sealed_begin(piece.index);
    const auto full = static_cast<std::size_t>(sealed_begin(piece.index + 1) - begin);
    bool ended = false;
    const std::size_t n = reader_.read(desk.in.span().first(full + 1), ended);
    piece.in = desk.in.span().first(n);
    piece.segments = per_piece_;
    if (!ended) return true;
    sealed_bytes_ = begin + n;
    try {
      extent_ = layout_.extent_of(sealed_bytes_);
      piece.last = true;
    } catch (const IntegrityError& error) {
      extent_ = extent_of_rest();
      piece.trouble = error.what();
      piece.in = piece.in.first(static_cast<std::size_t>(sealed_bytes_ - begin));
    }
    piece.segments = extent_.segments - piece.first;
    clip_end_ = extent_.plain_bytes;
    return true;
  }

  void compute(Piece& piece, Desk& desk) override {
    const std::uint64_t plain = layout_.plain_offset(piece.first);
    const std::uint64_t sealed = layout_.sealed_offset(piece.first);
    piece.out = desk.target().first(
        static_cast<std::size_t>(piece.in.size() - piece.segments * segment_tag_bytes));
    desk.segments.clear();
    for (std::uint64_t k = 0; k < piece.segments; ++k) {
      const std::uint64_t index = piece.first + k;
      const bool final = k + 1 == piece.segments;
      const auto from = static_cast<std::size_t>(layout_.sealed_offset(index) - sealed);
      const auto to = static_cast<std::size_t>(layout_.plain_offset(index) - plain);
      const auto n =
          final ? piece.in.size() - from
                : static_cast<std::size_t>(layout_.sealed_offset(index + 1) - sealed) - from;
      desk.segments.push_back({.index = index,
                               .last = piece.last && final,
                               .in = piece.in.subspan(from, n),
                               .out = piece.out.subspan(to, n - segment_tag_bytes)});
    }
    each_run(desk, desk.segments,
             [&](std::span<SegmentCipher::Segment> run) { cipher_.open(run); });
    // A segment that was not the last one ends a message that was cut between two segments.
    if (salvage_ == nullptr || desk.segments.empty()) return;
    SegmentCipher::Segment& end = desk.segments.back();
    if (end.intact || !end.last) return;
    end.intact = cipher_.open(end.index, false, end.in, end.out);
    if (end.intact) truncated_ = true;
  }

  void write(const Piece& piece, Desk& desk) override {
    std::uint64_t good = 0;
    while (good < piece.segments && desk.segments[good].intact) ++good;
    const std::uint64_t end = plain_end(piece, piece.segments);
    if (salvage_ != nullptr) {
      list_bad(piece, desk);
    } else if (good != piece.segments) {
      // In order, what is authentic may flow; at any offset it waits for the whole.
      if (file_sink_ == nullptr) write_plain(piece, plain_end(piece, good));
      throw bad_segment(layout_, commits_, piece.first + good);
    }
    write_plain(piece, end);
    opened_ += piece.segments;
    if (!piece.trouble.empty()) {
      if (salvage_ == nullptr) throw IntegrityError(piece.trouble);
      truncated_ = true;
    }
    report(piece.out.size());
  }

  // Where the plaintext of the first `count` segments of a piece ends.
  [[nodiscard]] std::uint64_t plain_end(const Piece& piece, std::uint64_t count) const {
    return count == piece.segments ? layout_.plain_offset(piece.first) + piece.out.size()
                                   : layout_.plain_offset(piece.first + count);
  }

  // Writes the plaintext of a piece up to the offset `end`, as far as it was asked for.
  void write_plain(const Piece& piece, std::uint64_t end) {
    if (sink_ == nullptr) return;
    const std::uint64_t begin = layout_.plain_offset(piece.first);
    const std::uint64_t from = std::max(begin, clip_begin_);
    const std::uint64_t to = file_ == nullptr ? end : std::min(end, clip_end_);
    if (from >= to) return;
    const Bytes data = Bytes(piece.out).subspan(static_cast<std::size_t>(from - begin),
                                                static_cast<std::size_t>(to - from));
    if (file_sink_ != nullptr) {
      file_sink_->write_at(from - clip_begin_, data);
    } else {
      sink_->write(data);
    }
  }

  void list_bad(const Piece& piece, const Desk& desk) {
    const std::lock_guard lock(salvage_mutex_);
    for (std::uint64_t k = 0; k < piece.segments; ++k) {
      if (desk.segments[k].intact) {
        ++authentic_;
        continue;
      }
      const std::uint64_t begin = layout_.plain_offset(piece.first + k);
      salvage_->push_back({begin, plain_end(piece, k + 1) - begin});
    }
  }

  const OpenOptions& options_;
  const Message& message_;
  const bool commits_;
  std::vector<BadRange>* const salvage_;
  Source& source_;
  PositionalSource* file_;
  Reader reader_;
  Sink* sink_;
  PositionalSink* file_sink_;
  SegmentLayout::Extent extent_;
  std::uint64_t sealed_bytes_ = 0;  // without a fragment that is too short to be a segment
  std::uint64_t first_segment_ = 0;
  std::uint64_t end_segment_ = 0;
  std::uint64_t clip_begin_ = 0;
  std::uint64_t clip_end_ = 0;
  std::atomic<std::uint64_t> opened_ = 0;
  std::atomic<bool> truncated_ = false;
  std::mutex salvage_mutex_;
  std::uint64_t authentic_ = 0;
};

}  // namespace

TransferResult seal_message(Source& source, const Message& message, Sink& sink,
                            const TransferOptions& options) {
  return Seal(source, message, sink, options).run();
}

void finish_salvage(const Message& message, const OpenResult& result, std::vector<BadRange>& bad) {
  if (result.intact == 0 && !message.commits()) {
    throw IntegrityError(
        "no segment authenticates: wrong key, wrong associated data, or damaged throughout");
  }
  std::sort(bad.begin(), bad.end(),
            [](const BadRange& a, const BadRange& b) { return a.offset < b.offset; });
  std::vector<BadRange> joined;
  for (const BadRange& range : bad) {
    if (!joined.empty() && range.bytes != 0 &&
        joined.back().offset + joined.back().bytes == range.offset) {
      joined.back().bytes += range.bytes;
    } else {
      joined.push_back(range);
    }
  }
  bad = std::move(joined);
}

Message::Message(Parts parts, const Execution& execution)
    : parts_(std::move(parts)),
      cipher_(parts_.secret.key.span(), parts_.secret.base_nonce, parts_.secret.nonces,
              for_segments(execution, parts_.layout.segment_bytes)) {}

OpenResult open_message(Source& source, const Message& message, Sink* sink,
                        const OpenOptions& options) {
  return Open(source, message, sink, options).run();
}

}  // namespace paraes
