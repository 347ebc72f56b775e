#include "bench/harness/gpu_energy.hpp"

#include <algorithm>
#include <exception>
#include <sstream>

#include "bench/harness/open_library.hpp"
#include "src/gpu/pool.hpp"

namespace paraes::bench {

// NVML, opened and initialised. Its functions are declared here, so that a build needs no NVIDIA
// header.
class GpuEnergyMeter::Nvml {
 public:
  Nvml() { check("nvmlInit_v2", initialise_()); }
  ~Nvml() { shut_down_(); }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  [[nodiscard]] void* find(const std::string& bus) const {
    void* handle = nullptr;
    check("nvmlDeviceGetHandleByPciBusId_v2", find_(bus.c_str(), &handle));
    return handle;
  }

  [[nodiscard]] double joules(const Gpu& gpu) const {
    unsigned long long millijoules = 0;
    const int code = energy_(gpu.handle, &millijoules);
    if (code == not_supported) {
      throw Skip("NVML has no energy counter for " + gpu.id + " (GPUs older than Volta lack it)");
    }
    check("nvmlDeviceGetTotalEnergyConsumption", code);
    return static_cast<double>(millijoules) * 1e-3;
  }

 private:
  static constexpr int not_supported = 3;

  void check(const char* call, int code) const {
    if (code == 0) return;
    throw Skip(std::string(call) + " failed: " + text_(code) + " (" + std::to_string(code) + ")");
  }

  DynamicLibrary library_ = open_library("libnvidia-ml.so.1");
  int (*initialise_)() = LibraryFunction{library_, "nvmlInit_v2"};
  int (*shut_down_)() = LibraryFunction{library_, "nvmlShutdown"};
  const char* (*text_)(int) = LibraryFunction{library_, "nvmlErrorString"};
  int (*find_)(const char*, void**) = LibraryFunction{library_, "nvmlDeviceGetHandleByPciBusId_v2"};
  int (*energy_)(void*, unsigned long long*) = LibraryFunction{
      library_, "nvmlDeviceGetTotalEnergyConsumption"};
};

GpuEnergyMeter::GpuEnergyMeter(const std::string& device) {
  try {
    open(device);
  } catch (const std::exception& error) {
    reason_ = error.what();
  }
  // Only a reading shows whether the GPU has a counter.
  if (available()) (void)joules();
}

GpuEnergyMeter::~GpuEnergyMeter() = default;

void GpuEnergyMeter::open(const std::string& device) {
  const std::size_t colon = device.find(':');
  const std::string runtime = device.substr(0, colon);
  if (runtime != "cuda") throw Skip("energy is not measured on " + runtime + " devices");
  nvml_ = std::make_unique<Nvml>();
  // CUDA and NVML number GPUs in different orders; the PCI address identifies a GPU in both.
  const std::vector<DeviceInfo> devices = gpu::open_platform(runtime)->devices();
  std::istringstream numbers(device.substr(colon + 1));
  for (std::string number; std::getline(numbers, number, '+');) {
    const std::string id = std::string(runtime).append(":").append(number);
    const auto info = std::find_if(devices.begin(), devices.end(),
                                   [&](const DeviceInfo& one) { return one.id == id; });
    if (info == devices.end()) throw Skip("there is no " + id);
    if (info->bus.empty()) throw Skip("the driver does not report the PCI address of " + id);
    gpus_.push_back({id, nvml_->find(info->bus)});
  }
}

std::optional<std::vector<double>> GpuEnergyMeter::joules() {
  if (!available()) return std::nullopt;
  std::vector<double> list;
  try {
    for (const Gpu& gpu : gpus_) list.push_back(nvml_->joules(gpu));
  } catch (const Skip& skip) {
    reason_ = skip.what();
    return std::nullopt;
  }
  return list;
}

}  // namespace paraes::bench
