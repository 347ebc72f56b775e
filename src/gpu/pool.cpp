#include "src/gpu/pool.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>
#include <tuple>
#include <utility>

#include "paraes/error.hpp"

namespace paraes::gpu {
namespace {

struct Names {
  std::string_view runtime;
  std::vector<unsigned> indices;
};

// "cuda:0+1": a runtime and its devices; "cuda" is its first.
Names parse(std::string_view device) {
  Names names;
  const std::size_t colon = device.find(':');
  names.runtime = device.substr(0, colon);
  if (names.runtime != "cuda" && names.runtime != "hip" && names.runtime != "opencl") {
    throw InvalidArgument("there is no device '" + std::string(device) +
                          "': use auto, cpu, cuda, hip or opencl, the last three with :N or :N+M");
  }
  if (colon == std::string_view::npos) {
    names.indices.push_back(0);
    return names;
  }
  std::string_view rest = device.substr(colon + 1);
  for (;;) {
    unsigned index = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), index);
    const auto length = static_cast<std::size_t>(end - rest.data());
    if (error != std::errc() || (length != rest.size() && rest[length] != '+')) {
      throw InvalidArgument("--device " + std::string(device) +
                            ": after the colon there are numbers joined by '+', as in cuda:0+1");
    }
    if (std::find(names.indices.begin(), names.indices.end(), index) != names.indices.end()) {
      throw InvalidArgument("--device " + std::string(device) + " names a device twice");
    }
    names.indices.push_back(index);
    if (length == rest.size()) return names;
    rest.remove_prefix(length + 1);
  }
}

// The fleets of this process, by device, kernel and options. Never destroyed: drivers may be gone
// before static objects are.
using Fleets = std::map<std::tuple<std::string, std::string, int, std::uint64_t, std::uint64_t>,
                        std::shared_ptr<Fleet>>;
std::mutex fleets_mutex;
Fleets* fleets = nullptr;  // under fleets_mutex

}  // namespace

Fleet::Fleet(std::vector<std::unique_ptr<Station>> stations) : stations_(std::move(stations)) {
  fragment_bytes_ = stations_[0]->fragment_bytes();
  max_messages_ = stations_[0]->lanes()[0]->max_messages();
  most_keys_ = stations_[0]->most_keys();
  for (const auto& station : stations_) {
    std::vector<Lane*> lanes;
    for (const auto& lane : station->lanes()) lanes.push_back(lane.get());
    lanes_ += static_cast<unsigned>(lanes.size());
    free_.push_back(std::move(lanes));
    fragment_bytes_ = std::min(fragment_bytes_, station->fragment_bytes());
    max_messages_ = std::min(max_messages_, station->lanes()[0]->max_messages());
    most_keys_ = std::min(most_keys_, station->most_keys());
  }
}

std::unique_ptr<Platform> open_platform(std::string_view runtime) {
  try {
    if (runtime == "cuda") return open_cuda();
    if (runtime == "hip") return open_hip();
    return open_opencl();
  } catch (const Unavailable& error) {
    throw Unavailable("--device " + std::string(runtime) + ": " + error.what());
  }
}

std::string Fleet::id() const {
  std::string text = stations_[0]->info().id;
  for (std::size_t i = 1; i < stations_.size(); ++i) {
    const std::string& other = stations_[i]->info().id;
    text += '+' + other.substr(other.find(':') + 1);
  }
  return text;
}

Fleet::Hold::Hold(Fleet& fleet) : fleet_(fleet) {
  std::unique_lock lock(fleet.mutex_);
  fleet.changed_.wait(lock, [&] {
    const auto most =
        std::max_element(fleet.free_.begin(), fleet.free_.end(),
                         [](const auto& a, const auto& b) { return a.size() < b.size(); });
    if (most->empty()) return false;
    station_ = static_cast<std::size_t>(most - fleet.free_.begin());
    return true;
  });
  lane_ = fleet.free_[station_].back();
  fleet.free_[station_].pop_back();
}

Fleet::Hold::~Hold() {
  lane_->settle();
  {
    const std::lock_guard lock(fleet_.mutex_);
    fleet_.free_[station_].push_back(lane_);
  }
  fleet_.changed_.notify_one();
}

void Fleet::forget_key(std::uint64_t id) noexcept {
  // Lanes at work have another key: that of a cipher is gone only after its last run.
  const std::lock_guard lock(mutex_);
  for (const auto& lanes : free_) {
    for (Lane* lane : lanes) {
      try {
        lane->forget_key(id);
      } catch (const Error&) {
        // The device is lost, and its memory with it.
      }
    }
  }
}

bool names_gpu(std::string_view device) {
  if (device.empty() || device == "auto" || device == "cpu") return false;
  static_cast<void>(parse(device));
  return true;
}

void require_gpus(std::string_view device) {
  const Names names = parse(device);
  const std::vector<DeviceInfo> list = open_platform(names.runtime)->devices();
  for (const unsigned index : names.indices) {
    if (index >= list.size()) {
      throw Unavailable("there is no device " + std::string(names.runtime) + ":" +
                        std::to_string(index) + "; `paraes devices` lists " +
                        std::to_string(list.size()) + " of this runtime");
    }
    if (!list[index].available) {
      throw Unavailable(list[index].id + " (" + list[index].name + "): " + list[index].reason);
    }
  }
}

std::shared_ptr<Fleet> open_fleet(std::string_view device, const KernelRow& row,
                                  const Options& options) {
  const std::lock_guard lock(fleets_mutex);
  if (fleets == nullptr) fleets = new Fleets;
  const Names names = parse(device);
  auto& fleet =
      (*fleets)[{std::string(device), std::string(row.name), static_cast<int>(options.transfer),
                 options.memory_limit, options.tables}];
  if (!fleet) {
    std::vector<std::unique_ptr<Station>> stations;
    for (const unsigned index : names.indices) {
      std::unique_ptr<Platform> platform = open_platform(names.runtime);
      std::unique_ptr<Device> opened = platform->open(index);
      stations.push_back(
          std::make_unique<Station>(std::move(platform), std::move(opened), row, options));
    }
    fleet = std::make_shared<Fleet>(std::move(stations));
  }
  return fleet;
}

}  // namespace paraes::gpu
