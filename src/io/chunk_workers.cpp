#include "src/io/chunk_workers.hpp"

#include <mutex>

#include "src/core/stopwatch.hpp"
#include "src/core/workers.hpp"

namespace paraes {
namespace {

// Calls stage(), and adds its nanoseconds to `sum`, also if it throws.
void timed(std::atomic<std::uint64_t>& sum, auto stage) {
  struct Time {
    ~Time() { sum.fetch_add(nanoseconds, std::memory_order_relaxed); }
    std::atomic<std::uint64_t>& sum;
    std::uint64_t nanoseconds = 0;
  } time{sum};
  const Stopwatch watch(time.nanoseconds);
  stage();
}

class Run {
 public:
  Run(WorkerStages& stages, Source& source, StageOrder order, StageTimes& times)
      : stages_(stages), source_(source), order_(order), times_(times) {}

  void run(unsigned count) {
    std::vector<Worker> workers(count);
    for (unsigned i = 0; i < count; ++i) workers[i].index = i;
    if (order_.reads && count > 1) {
      guard(workers[0], [&] { workers[0].has_chunk = take(workers[0]); });
      if (ended_) count = 1;
    }
    run_workers(count, [&](unsigned index) {
      Worker& worker = workers[index];
      guard(worker, [&] { work(worker); });
    });
    writes_.rethrow();
  }

 private:
  struct Worker {
    unsigned index = 0;
    bool has_chunk = false;    // that is read, but not computed
    std::uint64_t number = 0;  // of its chunk
  };

  void guard(const Worker& worker, auto body) try { body(); } catch (...) {
    // Both, so that nobody waits for a turn that never ends.
    computes_.fail(worker.number);
    writes_.fail(worker.number);
    source_.cancel();
  }

  void work(Worker& worker) {
    for (bool more = worker.has_chunk || take(worker); more; more = take(worker)) {
      if (order_.computes && !computes_.wait_turn(worker.number)) return;
      timed(times_.compute, [&] { stages_.compute(worker.index); });
      if (order_.computes) computes_.done(worker.number);
      if (order_.writes && !writes_.wait_turn(worker.number)) return;
      timed(times_.write, [&] { stages_.write(worker.index); });
      if (order_.writes) writes_.done(worker.number);
    }
  }

  // Reads the worker's next chunk. False if there is none, or if an earlier one has failed.
  bool take(Worker& worker) {
    std::unique_lock<std::mutex> lock;
    if (order_.reads) {
      lock = std::unique_lock(read_mutex_);
      if (ended_) return false;
      ended_ = true;  // unless this read finds more
    }
    worker.number = next_++;
    if (writes_.stopped(worker.number)) return false;
    auto next = WorkerStages::Next::none;
    timed(times_.read, [&] { next = stages_.read(worker.index, worker.number); });
    if (order_.reads) ended_ = next != WorkerStages::Next::chunk;
    return next != WorkerStages::Next::none;
  }

  WorkerStages& stages_;
  Source& source_;
  const StageOrder order_;
  StageTimes& times_;
  std::mutex read_mutex_;
  bool ended_ = false;  // guarded by read_mutex_; used if reads are in order
  std::atomic<std::uint64_t> next_ = 0;
  TurnQueue computes_;
  TurnQueue writes_;  // also keeps the failure if writes are in no order
};

}  // namespace

PhaseTimes StageTimes::phases() const noexcept {
  return {.read = read, .kernel = compute, .write = write};
}

void carry_chunks(unsigned workers, WorkerStages& stages, Source& source, StageOrder order,
                  StageTimes& times) {
  Run(stages, source, order, times).run(workers);
}

}  // namespace paraes
