// Measures the phases of a queue's work by marks at their beginnings and ends.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "paraes/devices.hpp"
#include "paraes/phase_times.hpp"
#include "src/gpu/runtime/runtime.hpp"

namespace paraes::gpu {

class QueueTimer {
 public:
  explicit QueueTimer(Queue& queue) : queue_(queue) {}

  // What is enqueued between the two counts as `time`. Phases follow each other.
  void begin(std::uint64_t PhaseTimes::*time);
  void end();

  // Whether there are phases that collect() has not seen, and whether all of them have ended. One
  // that has not was cut short by an exception.
  [[nodiscard]] bool has_phases() const noexcept { return !phases_.empty(); }
  [[nodiscard]] bool all_ended() const noexcept;

  // Adds the phases up; the queue has finished.
  void collect();
  // Drops phases and times.
  void reset() noexcept;

  // What collect() has added up since the last call.
  [[nodiscard]] PhaseTimes take() noexcept { return std::exchange(times_, PhaseTimes{}); }

 private:
  struct MarkedPhase {
    std::uint64_t PhaseTimes::*time;
    std::unique_ptr<Mark> begin;
    std::unique_ptr<Mark> end;
  };

  Queue& queue_;
  std::vector<MarkedPhase> phases_;
  PhaseTimes times_;
};

}  // namespace paraes::gpu
