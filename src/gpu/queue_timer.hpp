// Measures the phases of a queue's work, with marks at their beginnings and ends.
#pragma once

#include <algorithm>
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
  // An object that is not enabled does nothing.
  explicit QueueTimer(Queue& queue, bool enabled = true) : queue_(queue), enabled_(enabled) {}

  // Work that is enqueued between begin() and end() counts as `time`. Phases must not overlap.
  void begin(std::uint64_t PhaseTimes::*time) {
    if (enabled_) phases_.push_back({time, queue_.mark(), nullptr});
  }
  void end() {
    if (enabled_) phases_.back().end = queue_.mark();
  }

  // Whether there are phases since the last collect() or reset(), and whether all of them have
  // ended. An exception leaves a phase without an end.
  [[nodiscard]] bool has_phases() const noexcept { return !phases_.empty(); }
  [[nodiscard]] bool all_ended() const noexcept {
    return std::all_of(phases_.begin(), phases_.end(),
                       [](const MarkedPhase& phase) { return phase.end != nullptr; });
  }

  // Adds up the phases. The queue must have finished.
  void collect() {
    for (const MarkedPhase& phase : phases_) {
      if (phase.end) times_.*phase.time += queue_.nanoseconds(*phase.begin, *phase.end);
    }
    phases_.clear();
  }
  // Drops phases and times.
  void reset() noexcept {
    phases_.clear();
    times_ = {};
  }

  // The times that collect() has added up since the last call.
  [[nodiscard]] PhaseTimes take() noexcept { return std::exchange(times_, PhaseTimes{}); }

 private:
  struct MarkedPhase {
    std::uint64_t PhaseTimes::*time;
    std::unique_ptr<Mark> begin;
    std::unique_ptr<Mark> end;
  };

  Queue& queue_;
  bool enabled_;
  std::vector<MarkedPhase> phases_;
  PhaseTimes times_;
};

}  // namespace paraes::gpu
