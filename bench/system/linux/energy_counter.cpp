#include "bench/system/energy_counter.hpp"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace paraes::bench {

int open_energy_counter(std::uint32_t type, std::uint64_t config, int cpu) noexcept {
  perf_event_attr attributes{};
  attributes.type = type;
  attributes.size = sizeof attributes;
  attributes.config = config;
  return static_cast<int>(
      syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC));
}

}  // namespace paraes::bench
