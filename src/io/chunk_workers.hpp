// Workers that carry chunks from a source to a sink. Each takes the next chunk and reads, computes
// and writes it: the three stages of different chunks overlap, and no data is passed between
// threads. Workers take turns at stages that must keep the order of the chunks, such as reading a
// pipe.
#pragma once

#include <atomic>
#include <cstdint>
#include <new>
#include <vector>

#include "paraes/io.hpp"
#include "paraes/phase_times.hpp"

namespace paraes {

// The stages of a chunk. Several workers call them concurrently, each for its own chunk.
class WorkerStages {
 public:
  enum class Next { chunk, last_chunk, none };

  // Reads chunk `number`, the next one of this worker. `none` if there is no such chunk. After
  // `last_chunk` there is none either, which matters only if reads are in order.
  virtual Next read(unsigned worker, std::uint64_t number) = 0;
  // Computes and writes the chunk that the worker read last.
  virtual void compute(unsigned worker) = 0;
  virtual void write(unsigned worker) = 0;

 protected:
  ~WorkerStages() = default;
};

// Says which stages one worker calls at a time, in the order of the chunks.
struct StageOrder {
  bool reads = false;
  bool computes = false;
  bool writes = false;
};

// The nanoseconds that all workers have spent in each stage so far.
struct StageTimes {
  std::atomic<std::uint64_t> read = 0;
  std::atomic<std::uint64_t> compute = 0;
  std::atomic<std::uint64_t> write = 0;

  [[nodiscard]] PhaseTimes phases() const noexcept;
};

// Calls the stages for chunks 0, 1, 2, … until there is no next one, on `workers` threads: the
// caller is worker 0. If reads are in order, other threads are started only once a first chunk was
// read that is not the last.
//
// When a stage throws, earlier chunks still run to their end, later ones stop, a read that waits is
// cancelled (Source::cancel, which also holds for later reads), and the exception of the first
// chunk that failed is thrown again.
//
// Adds to `times` after each call of a stage.
void carry_chunks(unsigned workers, WorkerStages& stages, Source& source, StageOrder order,
                  StageTimes& times);

// Makes the buffers of `count` workers: make(i) returns those of worker i in a std::unique_ptr.
// Where memory is limited, fewer are made, and so many workers do all the work; std::bad_alloc is
// thrown only if there is no memory for one.
//
// To be called before the workers start: a thread that allocates for the first time gets an arena
// of its own from malloc, which takes longer than a small file.
auto make_for_workers(unsigned count, auto make) {
  std::vector<decltype(make(0U))> made;
  made.reserve(count);
  try {
    while (made.size() < count) made.push_back(make(static_cast<unsigned>(made.size())));
  } catch (const std::bad_alloc&) {
    if (made.empty()) throw;
  }
  return made;
}

}  // namespace paraes
