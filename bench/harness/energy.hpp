// Energy counters of this machine: of the CPU by powercap (RAPL), then perf's power events; of GPUs
// by NVML.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/harness/gpu_energy.hpp"

namespace paraes::bench {

// The packages' energy since some moment. It counts all that the packages do, so it says something
// of one program only on a machine that is otherwise idle.
class EnergyMeter {
 public:
  EnergyMeter();
  ~EnergyMeter();
  EnergyMeter(const EnergyMeter&) = delete;
  EnergyMeter& operator=(const EnergyMeter&) = delete;

  [[nodiscard]] bool available() const { return !zones_.empty() || !events_.empty(); }
  [[nodiscard]] const std::string& reason() const { return reason_; }  // why it is not available

  // Joules since the meter was made; empty if it is not available or could not be read. Reads must
  // come more often than a powercap counter wraps (minutes).
  [[nodiscard]] std::optional<double> joules();

  // Of the GPUs of `device`; opened when it is first asked for.
  [[nodiscard]] GpuEnergyMeter& gpu(const std::string& device);

 private:
  struct Zone {
    std::string path;
    std::uint64_t range;  // the counter wraps here
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
