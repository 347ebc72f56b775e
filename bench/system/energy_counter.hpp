// The kernel's counters of the energy that processors use.
#pragma once

#include <cstdint>

namespace paraes::bench {

// Opens a counter (perf_event_open) of the processors of one package, `cpu` among them. Returns a
// descriptor, or -1 if the system has no such counters or does not allow it.
[[nodiscard]] int open_energy_counter(std::uint32_t type, std::uint64_t config, int cpu) noexcept;

}  // namespace paraes::bench
