// Energy counters of this machine: for the CPU, powercap (RAPL) or else perf's power events; for
// GPUs, NVML.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/harness/gpu_energy.hpp"

namespace paraes::bench {

// Energy of all CPU packages, whichever process uses it: meaningful for one program only on an
// otherwise idle machine.
class EnergyMeter {
 public:
  EnergyMeter();
  ~EnergyMeter();
  EnergyMeter(const EnergyMeter&) = delete;
  EnergyMeter& operator=(const EnergyMeter&) = delete;

  [[nodiscard]] bool available() const { return !zones_.empty() || !events_.empty(); }
  [[nodiscard]] const std::string& reason() const { return reason_; }  // why it is not available

  // Joules since an arbitrary start; empty if the meter is not available or could not be read. Call
  // it more often than a powercap counter wraps (minutes).
  [[nodiscard]] std::optional<double> joules();

  // The meter of `device`, which is opened at the first call.
  [[nodiscard]] GpuEnergyMeter& gpu(const std::string& device);

 private:
  struct Zone {
    std::string path;
    std::uint64_t range;  // the value at which the counter wraps
    std::uint64_t last;
  };
  struct Event {
    int file;
    double scale;
  };

  void open_powercap();
  void open_perf();

  std::vector<Zone> zones_;
  std::vector<Event> events_;
  std::string reason_;
  double total_ = 0;
  std::map<std::string, std::unique_ptr<GpuEnergyMeter>> gpus_;
};

}  // namespace paraes::bench
