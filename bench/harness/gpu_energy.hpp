// Energy counters of NVIDIA's GPUs: those of NVML, the management library that comes with the
// driver.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace paraes::bench {

// What the GPUs of one device ("cuda:0", "cuda:0+1") have used, whoever used it. The counters step
// every 20 to 100 ms.
class GpuEnergyMeter {
 public:
  // Never throws for want of a counter: see reason().
  explicit GpuEnergyMeter(const std::string& device);
  ~GpuEnergyMeter();
  GpuEnergyMeter(const GpuEnergyMeter&) = delete;
  GpuEnergyMeter& operator=(const GpuEnergyMeter&) = delete;

  [[nodiscard]] bool available() const { return reason_.empty(); }
  [[nodiscard]] const std::string& reason() const { return reason_; }  // why it is not available

  // Joules since some moment, a number for each GPU; empty if the meter is not available. One that
  // cannot be read is not available from then on.
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
