// Moves a message from a source to a sink, chunk by chunk. Each worker takes the next chunk and
// reads, computes and writes it by itself: the three phases overlap on all cores, and no data goes
// from thread to thread. Pipes are read and written in turns.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "paraes/messages.hpp"
#include "src/core/executor.hpp"
#include "src/core/workers.hpp"

namespace paraes::detail {

// A run of segments on its way.
struct Chunk {
  std::uint64_t index = 0;
  std::uint64_t first = 0;     // its first segment
  std::uint64_t segments = 0;  // how many
  bool last = false;           // its last segment is that of the message
  Bytes in;
  MutableBytes out;
  std::string defect;  // why the input cannot be whole behind this chunk
};

// Memory that one worker owns and uses for one chunk after another.
class WorkerBuffers {
 public:
  // out_bytes = 0: output replaces the input. All memory that a chunk of so many segments needs is
  // taken here, where a worker may still do without.
  WorkerBuffers(unsigned worker, std::size_t in_bytes, std::size_t out_bytes,
                std::size_t max_segments)
      : worker_(worker), in_(in_bytes) {
    if (out_bytes != 0) out_ = std::make_unique<IoBuffer>(out_bytes);
    segments.reserve(max_segments);
  }

  [[nodiscard]] unsigned worker() const noexcept { return worker_; }
  [[nodiscard]] MutableBytes in() noexcept { return in_.span(); }
  [[nodiscard]] MutableBytes out() noexcept { return out_ ? out_->span() : in_.span(); }

  std::vector<SegmentCipher::Segment> segments;  // of the chunk
  PhaseTimes times;

 private:
  unsigned worker_;
  IoBuffer in_;
  std::unique_ptr<IoBuffer> out_;
};

// What a direction does with a chunk. Several workers call these at once, each for its own chunk.
class ChunkStages {
 public:
  // Fills all of the chunk but `out`; false if there is no next chunk. One call at a time where
  // reads are in order.
  virtual bool read(Chunk& chunk, WorkerBuffers& buffers) = 0;
  virtual void compute(Chunk& chunk, WorkerBuffers& buffers) = 0;
  // Writes as much of the chunk as may be written, then throws if something is wrong with it. One
  // call at a time, in the order of the chunks, where writes are in order.
  virtual void write(const Chunk& chunk, WorkerBuffers& buffers) = 0;

 protected:
  ~ChunkStages() = default;
};

class Pipeline {
 public:
  // keep_input: what was read must survive the computation. Message and options outlive this.
  Pipeline(const Message& message, const TransferOptions& options, bool keep_input);
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // Of a full chunk.
  [[nodiscard]] std::uint64_t segments_per_chunk() const noexcept { return per_chunk_; }

  // Chunks of `count` that belong to the share of the options: [begin, end).
  struct Range {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };
  [[nodiscard]] Range share_of(std::uint64_t count) const noexcept;
  // Throws InvalidArgument for a share that there is not, and for one of several where source or
  // sink are used in order.
  void check_share(bool positional) const;

  struct InOrder {
    bool reads = false;   // the source is a pipe
    bool writes = false;  // the sink is
  };
  // Sends chunks through the steps until read() ends them; `count`: how many there are, if that is
  // known. Throws what failed in the first chunk that failed.
  PhaseTimes run(ChunkStages& steps, Source& source, InOrder order,
                 std::optional<std::uint64_t> count);

  // For compute(): seals or opens buffers.segments, spread over the threads that compute.
  void crypt(Direction direction, WorkerBuffers& buffers) const;

  // For write(): adds to the bytes of plaintext that are done.
  void report(std::uint64_t plain_bytes);

 private:
  [[nodiscard]] std::size_t plain_capacity() const noexcept;
  [[nodiscard]] std::size_t sealed_capacity() const noexcept;
  [[nodiscard]] unsigned worker_count(std::optional<std::uint64_t> chunks) const;
  [[nodiscard]] std::unique_ptr<WorkerBuffers> make_buffers(unsigned worker) const;
  void work(unsigned worker, std::unique_ptr<WorkerBuffers> buffers);
  void work_with(WorkerBuffers& buffers, std::uint64_t& number);
  bool take(Chunk& chunk, WorkerBuffers& buffers, std::uint64_t& number);

  const SegmentLayout layout_;
  const SegmentCipher& cipher_;
  const TransferOptions& options_;
  const Executor compute_;
  const std::uint64_t per_chunk_;
  const bool in_place_;

  ChunkStages* stages_ = nullptr;
  Source* source_ = nullptr;
  InOrder in_order_;
  std::mutex read_mutex_;
  bool ended_ = false;  // under read_mutex_, where reads are in order
  std::atomic<std::uint64_t> next_ = 0;
  TurnQueue turns_;
  std::mutex progress_mutex_;
  std::uint64_t done_ = 0;
  PhaseTimes times_;
};

// Reads chunks of a pipe in order, one byte ahead, so that the last chunk is known as such.
class PipeReader {
 public:
  explicit PipeReader(Source& source) : source_(source) {}

  // Fills `buffer`, all but its last byte; returns how many bytes of it count. `ended`: nothing
  // follows them.
  std::size_t read(MutableBytes buffer, bool& ended);

 private:
  Source& source_;
  std::optional<std::uint8_t> ahead_;
};

}  // namespace paraes::detail
