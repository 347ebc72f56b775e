// Busy time of an operation by phase, in nanoseconds, summed over its threads and GPU streams.
// Where phases overlap, their sum may exceed the time that the operation took.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace paraes {

struct PhaseTimes {
  std::uint64_t read = 0;
  std::uint64_t key_expansion = 0;
  std::uint64_t host_to_device = 0;
  std::uint64_t kernel = 0;
  std::uint64_t device_to_host = 0;
  std::uint64_t write = 0;
  std::uint64_t scatter = 0;  // sending chunks to other processes
  std::uint64_t gather = 0;   // receiving chunks from other processes

  PhaseTimes& operator+=(const PhaseTimes& other) noexcept;
};

struct Phase {
  std::string_view name;  // as in JSON
  std::uint64_t PhaseTimes::*busy_ns;
};

// Every phase once, in the order in which JSON lists them.
inline constexpr std::array<Phase, 8> phase_table = {{
    {"read", &PhaseTimes::read},
    {"key_expansion", &PhaseTimes::key_expansion},
    {"host_to_device", &PhaseTimes::host_to_device},
    {"kernel", &PhaseTimes::kernel},
    {"device_to_host", &PhaseTimes::device_to_host},
    {"write", &PhaseTimes::write},
    {"scatter", &PhaseTimes::scatter},
    {"gather", &PhaseTimes::gather},
}};

inline PhaseTimes& PhaseTimes::operator+=(const PhaseTimes& other) noexcept {
  for (const Phase& phase : phase_table) this->*phase.busy_ns += other.*phase.busy_ns;
  return *this;
}

}  // namespace paraes
