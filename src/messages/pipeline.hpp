// Processes a message from a source to a sink in chunks. Each worker takes the next chunk and
// reads, computes and writes it: the three phases of different chunks overlap on all cores, and no
// data is passed between threads. Workers take turns at pipes.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "paraes/messages.hpp"
#include "src/core/executor.hpp"
#include "src/io/chunk_workers.hpp"
#include "src/io/fresh_pages.hpp"

namespace paraes::detail {

// Consecutive segments that are read, computed and written together.
struct Chunk {
  std::uint64_t index = 0;
  std::uint64_t first = 0;     // number of its first segment
  std::uint64_t segments = 0;  // number of segments
  bool last = false;           // whether it has the last segment of the message
  Bytes in;
  MutableBytes out;
  std::string defect;  // if not empty: the input ends here, and why that is an error
};

// Memory that one worker owns and uses for one chunk after another. It grows with what a chunk
// really holds: the format may allow segments of 2 GiB for a message of a few bytes.
//
// Data at an offset of a file begins as far into a page of memory as it does in the file. The
// system then copies whole pages between the two, which is a few per cent faster.
class WorkerBuffers {
 public:
  // Allocates in_bytes for the input and out_bytes for the output at first. out_bytes = 0: the
  // output replaces the input. A chunk has at most chunk_segments segments. Outputs come from
  // `pages` if that is not nullptr: the sink takes pages.
  WorkerBuffers(unsigned worker, std::size_t in_bytes, std::size_t out_bytes,
                std::size_t chunk_segments, FreshPages* pages)
      : worker_(worker),
        tag_bytes_(chunk_segments * segment_tag_bytes),
        in_(page_bytes + in_bytes + tag_bytes_),
        out_(out_bytes == 0 ? 0 : page_bytes + out_bytes, pages),
        in_place_(out_bytes == 0) {
    segments.reserve(chunk_segments);
  }

  [[nodiscard]] unsigned worker() const noexcept { return worker_; }
  // Memory of a GPU for the next chunk, instead of the worker's own; nullptr: the worker's own.
  void stage(std::unique_ptr<SegmentStaging> staging) noexcept { staging_ = std::move(staging); }
  [[nodiscard]] SegmentStaging* staging() const noexcept { return staging_.get(); }
  // `bytes` bytes for the input. If the memory grows, the first `kept` bytes keep their values.
  [[nodiscard]] MutableBytes in(std::size_t bytes, std::size_t kept = 0);
  // `bytes` bytes for the input from `offset` of a file.
  [[nodiscard]] MutableBytes in_at(std::uint64_t offset, std::size_t bytes);
  // Reads the sealed segments of a chunk, whose numbers are set, from a message of sealed_bytes.
  void read_sealed(const PositionalSource& source, const SegmentLayout& layout,
                   std::uint64_t sealed_bytes, Chunk& chunk);
  // `bytes` bytes for the output, which goes to `offset` of a file: at most those of the input, and
  // the tags of the segments.
  [[nodiscard]] MutableBytes out_at(std::uint64_t offset, std::size_t bytes);
  // Appends `data`, a part of what out_at() returned last, to a sink that is written in order.
  void write(Sink& sink, Bytes data) const { out_.write(sink, data); }

  std::vector<SegmentCipher::Segment> segments;  // of the chunk

 private:
  static constexpr std::size_t page_bytes = 4096;
  static_assert(SegmentStaging::spare >= page_bytes);

  unsigned worker_;
  std::size_t in_begin_ = 0;  // of the input in in_
  std::size_t tag_bytes_;     // room behind the input for the tags of an output that replaces it
  IoBuffer in_;
  SinkBuffer out_;
  bool in_place_;
  std::unique_ptr<SegmentStaging> staging_;
};

// The stages of sealing or opening a chunk. Several workers call them concurrently, each for its
// own chunk.
class ChunkStages {
 public:
  // Sets all members of the chunk except `out`; returns false if there is no next chunk. If reads
  // are in order, one worker calls it at a time.
  virtual bool read(Chunk& chunk, WorkerBuffers& buffers) = 0;
  virtual void compute(Chunk& chunk, WorkerBuffers& buffers) = 0;
  // Writes what may be written of the chunk, then throws if the chunk is bad. If writes are in
  // order, one worker calls it at a time, in the order of the chunks.
  virtual void write(const Chunk& chunk, WorkerBuffers& buffers) = 0;

 protected:
  ~ChunkStages() = default;
};

class Pipeline final : private WorkerStages {
 public:
  // input_bytes: the size of the input, if it is known. keep_input: the computation must not
  // overwrite the input. Keeps references to message and options.
  Pipeline(const Message& message, const TransferOptions& options,
           std::optional<std::uint64_t> input_bytes, bool keep_input);

  // The number of segments in a full chunk.
  [[nodiscard]] std::uint64_t segments_per_chunk() const noexcept { return per_chunk_; }

  // Chunks [begin, end).
  struct Range {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };
  // Returns which of `count` chunks TransferOptions::share has to process.
  [[nodiscard]] Range share_of(std::uint64_t count) const noexcept;
  // Throws InvalidArgument if the index of the share is out of range, and if there are several
  // shares although source and sink are not `positional`.
  void check_share(bool positional) const;

  // The stages that are called in the order of the chunks.
  struct InOrder {
    bool reads = false;   // true if the source is a pipe
    bool writes = false;  // true if the sink is a pipe
    bool pages = false;   // true if the sink takes pages
  };
  // Calls the stages for all chunks, until read() returns false. `count` is their number if it is
  // known. Rethrows the exception of the first chunk that failed.
  PhaseTimes run(ChunkStages& stages, Source& source, InOrder in_order,
                 std::optional<std::uint64_t> count);

  // For ChunkStages::compute: seals or opens buffers.segments, without overlap on all threads.
  void crypt(Direction direction, WorkerBuffers& buffers) const {
    crypt(cipher_, direction, buffers);
  }
  // Uses the cipher of another message.
  void crypt(const SegmentCipher& cipher, Direction direction, WorkerBuffers& buffers) const;

  // For ChunkStages::write, when a chunk is written: reports progress by `plain_bytes` bytes.
  void report(WorkerBuffers& buffers, std::uint64_t plain_bytes);

 private:
  [[nodiscard]] unsigned worker_count(std::optional<std::uint64_t> chunks) const;
  // Whether chunk `number` of a worker goes through a GPU's memory. No worker may wait for another
  // while it holds that: only sources and sinks that are read and written in any order.
  [[nodiscard]] bool is_staged(std::uint64_t number) const noexcept;
  // The buffers of as many workers as there is memory for. Throws std::bad_alloc if it is too
  // little for one.
  [[nodiscard]] std::vector<std::unique_ptr<WorkerBuffers>> make_buffers(unsigned workers);
  Next read(unsigned worker, std::uint64_t number) override;
  void compute(unsigned worker) override;
  void write(unsigned worker) override;

  const SegmentLayout layout_;
  const SegmentCipher& cipher_;
  const TransferOptions& options_;
  const Executor compute_;
  const std::uint64_t per_chunk_;
  const bool in_place_;
  const bool keeps_input_;

  ChunkStages* stages_ = nullptr;
  InOrder in_order_;
  std::optional<std::uint64_t> count_;                   // of the chunks
  std::vector<std::unique_ptr<WorkerBuffers>> buffers_;  // of each worker
  std::vector<Chunk> chunks_;                            // that each worker has now
  FreshPages pages_;
  std::mutex progress_mutex_;
  std::uint64_t done_ = 0;
};

// Reads the chunks of a pipe in order. A chunk has fewer segments than a full one where the writer
// pauses: then all segments that are complete go on.
class PipeReader {
 public:
  // `direction`: what is done with the segments. Keeps a reference to the source.
  PipeReader(Source& source, const SegmentLayout& layout, Direction direction,
             std::uint64_t per_chunk);

  // Reads the next chunk to buffers.in(), and sets its first segment, their number and its input.
  // True if no segment follows: then the input is all that is left, whose segments the caller has
  // to count.
  [[nodiscard]] bool read(WorkerBuffers& buffers, Chunk& chunk);

 private:
  // The size in the pipe of `segments` segments from the next one on.
  [[nodiscard]] std::size_t bytes_of(std::uint64_t segments) const noexcept;

  Source& source_;
  const SegmentLayout layout_;
  const bool seals_;
  const std::uint64_t per_chunk_;
  // How many bytes after a full segment show that it is not the last one.
  const std::size_t following_;
  std::uint64_t next_ = 0;           // segment
  std::vector<std::uint8_t> ahead_;  // that were read, and belong to the next chunk
};

}  // namespace paraes::detail
