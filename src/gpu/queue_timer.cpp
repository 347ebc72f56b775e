#include "src/gpu/queue_timer.hpp"

#include <algorithm>

namespace paraes::gpu {

void QueueTimer::begin(std::uint64_t PhaseTimes::*time) {
  if (enabled_) phases_.push_back({time, queue_.mark(), nullptr});
}

void QueueTimer::end() {
  if (enabled_) phases_.back().end = queue_.mark();
}

bool QueueTimer::all_ended() const noexcept {
  return std::all_of(phases_.begin(), phases_.end(),
                     [](const MarkedPhase& phase) { return phase.end != nullptr; });
}

void QueueTimer::collect() {
  for (const MarkedPhase& phase : phases_) {
    if (phase.end) times_.*phase.time += queue_.nanoseconds(*phase.begin, *phase.end);
  }
  phases_.clear();
}

void QueueTimer::reset() noexcept {
  phases_.clear();
  times_ = {};
}

}  // namespace paraes::gpu
