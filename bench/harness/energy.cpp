#include "bench/harness/energy.hpp"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "bench/system/counters.hpp"

namespace paraes::bench {
namespace {

namespace fs = std::filesystem;

template <class T>
bool read_number(const fs::path& path, T& value) {
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

}  // namespace paraes::bench
