#include "bench/harness/energy.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "bench/harness/open_library.hpp"
#include "bench/system/counters.hpp"
#include "src/core/non_copyable.hpp"
#include "src/gpu/pool.hpp"

namespace paraes::bench {
namespace {

namespace fs = std::filesystem;

bool read_number(const fs::path& path, auto& value) {
  std::ifstream file(path);
  return static_cast<bool>(file >> value);
}

std::string read_word(const fs::path& path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return word;
}

}  // namespace

EnergyMeter::EnergyMeter() {
  open_powercap();
  if (zones_.empty()) open_perf();
  if (available()) reason_.clear();
}

EnergyMeter::~EnergyMeter() {
  for (const Event& event : events_) close(event.file);
}

void EnergyMeter::open_powercap() {
  const fs::path root = "/sys/class/powercap";
  std::error_code error;
  if (!fs::is_directory(root, error)) {
    reason_ = "no powercap";
    return;
  }
  reason_ = "powercap has no package counter";
  for (const auto& entry : fs::directory_iterator(root, error)) {
    // Package zones are intel-rapl:N, on AMD too; intel-rapl:N:M are their subzones.
    if (read_word(entry.path() / "name").rfind("package", 0) != 0) continue;
    Zone zone{(entry.path() / "energy_uj").string(), 0, 0};
    if (!read_number(entry.path() / "max_energy_range_uj", zone.range)) continue;
    if (read_number(zone.path, zone.last)) {
      zones_.push_back(std::move(zone));
    } else {
      reason_ = "powercap's counters are readable by root only";
    }
  }
}

void EnergyMeter::open_perf() {
  const fs::path root = "/sys/bus/event_source/devices/power";
  std::uint32_t type = 0;
  if (!read_number(root / "type", type)) {
    reason_ += ", no perf power events";
    return;
  }
  const std::string text = read_word(root / "events" / "energy-pkg");  // event=0x02
  double scale = 0;
  if (text.rfind("event=", 0) != 0 || !read_number(root / "events" / "energy-pkg.scale", scale)) {
    reason_ += ", perf has no energy-pkg event";
    return;
  }
  // The cpumask file lists one processor of each package.
  std::ifstream mask(root / "cpumask");
  int cpu = 0;
  while (mask >> cpu) {
    const int file = open_energy_counter(type, std::strtoull(text.c_str() + 6, nullptr, 0), cpu);
    if (file >= 0) events_.push_back({file, scale});
    mask.ignore(1);
  }
  if (events_.empty()) reason_ += ", perf's energy-pkg may not be opened (perf_event_paranoid)";
}

std::optional<double> EnergyMeter::joules() {
  if (!available()) return std::nullopt;
  for (Zone& zone : zones_) {
    std::uint64_t now = 0;
    if (!read_number(zone.path, now)) return std::nullopt;
    const std::uint64_t step = now >= zone.last ? now - zone.last : now + zone.range - zone.last;
    total_ += static_cast<double>(step) * 1e-6;
    zone.last = now;
  }
  if (!zones_.empty()) return total_;
  double sum = 0;
  for (const Event& event : events_) {
    std::uint64_t count = 0;
    if (read(event.file, &count, sizeof count) != sizeof count) return std::nullopt;
    sum += static_cast<double>(count) * event.scale;
  }
  return sum;
}

GpuEnergyMeter& EnergyMeter::gpu(const std::string& device) {
  std::unique_ptr<GpuEnergyMeter>& meter = gpus_[device];
  if (!meter) meter = std::make_unique<GpuEnergyMeter>(device);
  return *meter;
}

// NVML, opened and initialised. Its functions are declared here, so that a build needs no NVIDIA
// header.
class GpuEnergyMeter::Nvml : NonCopyable {
 public:
  Nvml() { check("nvmlInit_v2", initialise_()); }
  ~Nvml() { shut_down_(); }

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
    const auto info = std::ranges::find(devices, id, &DeviceInfo::id);
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
