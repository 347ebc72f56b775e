// Energy counters of NVIDIA GPUs, read through NVML, the management library that comes with the
// driver.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace paraes::bench {

// Energy of the GPUs of one device ("cuda:0", "cuda:0+1"), whichever process uses it. The counters
// update every 20 to 100 ms.
class GpuEnergyMeter {
 public:
  // Does not throw if the device has no counter; see reason().
  explicit GpuEnergyMeter(const std::string& device);
  ~GpuEnergyMeter();
  GpuEnergyMeter(const GpuEnergyMeter&) = delete;
  GpuEnergyMeter& operator=(const GpuEnergyMeter&) = delete;

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

}  // namespace paraes::bench
