// Energy counters of this machine: for the CPU, powercap (RAPL) or else perf's power events; for
// NVIDIA GPUs, NVML, the management library that comes with the driver.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/core/non_copyable.hpp"

namespace paraes::bench {

// Energy of the GPUs of one device ("cuda:0", "cuda:0+1"), whichever process uses it. The counters
// update every 20 to 100 ms.
class GpuEnergyMeter : NonCopyable {
 public:
  // Does not throw if the device has no counter; see reason().
  explicit GpuEnergyMeter(const std::string& device);
  ~GpuEnergyMeter();

  [[nodiscard]] bool available() const { return reason_.empty(); }
  [[nodiscard]] const std::string& reason() const { return reason_; }  // why it is not available

  // Joules since an arbitrary start, for each GPU of the device in its order; empty if the meter is
  // not available. A reading that fails makes the meter unavailable from then on.
  [[nodiscard]] std::optional<std::vector<double>> joules();

 private:
  class Nvml;
  struct Gpu {
    std::string id;
    void* handle;
  };

  void open(const std::string& device);

  std::unique_ptr<Nvml> nvml_;
  std::vector<Gpu> gpus_;
  std::string reason_;
};

// Energy of all CPU packages, whichever process uses it: meaningful for one program only on an
// otherwise idle machine.
class EnergyMeter : NonCopyable {
 public:
  EnergyMeter();
  ~EnergyMeter();

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
