// The processor's counters: how many cycles, instructions and cache misses some work took, and how
// much energy.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/core/non_copyable.hpp"

namespace paraes::bench {

// An event as perf_event_open(2) names it.
struct CounterEvent {
  std::string name;
  std::uint32_t type;
  std::uint64_t config;
};

// cycles, instructions and cache_misses.
[[nodiscard]] std::vector<CounterEvent> processor_events();

using Counts = std::map<std::string, double>;  // by name of the event

// Counts what the threads of this process do in user space: those that there are now, and those
// that they start later.
class Counters : NonCopyable {
 public:
  // An event that cannot be opened for all threads is left out.
  explicit Counters(const std::vector<CounterEvent>& events = processor_events());
  ~Counters();

  [[nodiscard]] bool available() const { return !events_.empty(); }
  // Why an event is left out: that of the first one. Empty if none is.
  [[nodiscard]] const std::string& reason() const { return reason_; }

  void start();
  // Returns what was counted since start(), over all threads. Empty if a counter could not be read,
  // or did not run all the time.
  [[nodiscard]] std::optional<Counts> stop() const;

 private:
  // The reading of one descriptor: the count, how long it was enabled, and how long it counted.
  struct Reading {
    std::uint64_t count = 0;
    std::uint64_t enabled_ns = 0;
    std::uint64_t running_ns = 0;
    bool valid = false;
  };
  struct Event {
    std::string name;
    std::vector<int> files;          // one for each thread
    std::vector<Reading> beginning;  // of each
  };

  [[nodiscard]] static Reading read_counter(int file);

  std::vector<Event> events_;
  std::string reason_;
};

// Opens a counter (perf_event_open) of the energy of the processors of one package, `cpu` among
// them. Returns a descriptor, or -1 if the system has no such counters or does not allow it.
[[nodiscard]] int open_energy_counter(std::uint32_t type, std::uint64_t config, int cpu) noexcept;

}  // namespace paraes::bench
