#include "bench/system/counters.hpp"

#include <fmt/core.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

namespace paraes::bench {
namespace {

// All threads of this process; empty if /proc does not show them.
std::vector<pid_t> threads_now() {
  std::vector<pid_t> threads;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", error)) {
    threads.push_back(
        static_cast<pid_t>(std::strtol(entry.path().filename().c_str(), nullptr, 10)));
  }
  // In the name space of another process the numbers would be those of other threads.
  const auto own = static_cast<pid_t>(syscall(SYS_gettid));
  if (std::find(threads.begin(), threads.end(), own) == threads.end()) threads.clear();
  return threads;
}

int open_counter(perf_event_attr& attributes, pid_t thread, int cpu) noexcept {
  attributes.size = sizeof attributes;
  return static_cast<int>(
      syscall(SYS_perf_event_open, &attributes, thread, cpu, -1, PERF_FLAG_FD_CLOEXEC));
}

int open_counter(const CounterEvent& event, pid_t thread) noexcept {
  perf_event_attr attributes{};
  attributes.type = event.type;
  attributes.config = event.config;
  attributes.inherit = 1;  // by threads that this one starts
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  return open_counter(attributes, thread, -1);
}

std::string why_not(const CounterEvent& event, int error) {
  if (error == EACCES || error == EPERM) {
    std::string level = "unknown";
    std::ifstream("/proc/sys/kernel/perf_event_paranoid") >> level;
    return fmt::format(
        "the system does not allow it: kernel.perf_event_paranoid is {}, and 2 or less is needed; "
        "in a container, its seccomp profile must allow perf_event_open",
        level);
  }
  if (error == ENOENT || error == EOPNOTSUPP || error == ENODEV || error == EINVAL) {
    return fmt::format("this processor, or its hypervisor, has no counter of {}", event.name);
  }
  if (error == ENOSYS) return "this kernel has no perf events";
  return fmt::format("no counter of {}: {}", event.name, std::generic_category().message(error));
}

}  // namespace

std::vector<CounterEvent> processor_events() {
  return {{"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
          {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
          {"cache_misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES}};
}

Counters::Counters(const std::vector<CounterEvent>& events) {
  const std::vector<pid_t> threads = threads_now();
  if (threads.empty()) {
    reason_ = "/proc/self/task, which lists the threads to count, cannot be read";
    return;
  }
  for (const CounterEvent& event : events) {
    Event opened{event.name, {}, {}};
    for (const pid_t thread : threads) {
      const int file = open_counter(event, thread);
      if (file >= 0) {
        opened.files.push_back(file);
        continue;
      }
      if (errno == ESRCH) continue;  // the thread has ended
      if (reason_.empty()) reason_ = why_not(event, errno);
      for (const int other : opened.files) close(other);
      opened.files.clear();
      break;
    }
    if (!opened.files.empty()) events_.push_back(std::move(opened));
  }
}

Counters::~Counters() {
  for (const Event& event : events_) {
    for (const int file : event.files) close(file);
  }
}

Counters::Reading Counters::read_counter(int file) {
  std::array<std::uint64_t, 3> values{};
  const bool valid = read(file, values.data(), sizeof values) == sizeof values;
  return {values[0], values[1], values[2], valid};
}

void Counters::start() {
  for (Event& event : events_) {
    event.beginning.clear();
    for (const int file : event.files) event.beginning.push_back(read_counter(file));
  }
}

std::optional<Counts> Counters::stop() const {
  Counts counts;
  for (const Event& event : events_) {
    double& count = counts[event.name];
    for (std::size_t i = 0; i < event.files.size(); ++i) {
      const Reading begin = event.beginning.at(i);
      const Reading end = read_counter(event.files[i]);
      if (!begin.valid || !end.valid) return std::nullopt;
      if (end.enabled_ns - begin.enabled_ns != end.running_ns - begin.running_ns) {
        return std::nullopt;
      }
      count += static_cast<double>(end.count - begin.count);
    }
  }
  return counts;
}

int open_energy_counter(std::uint32_t type, std::uint64_t config, int cpu) noexcept {
  perf_event_attr attributes{};
  attributes.type = type;
  attributes.config = config;
  return open_counter(attributes, -1, cpu);
}

}  // namespace paraes::bench
