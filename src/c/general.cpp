// The version, random bytes, kernels and devices.

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "paraes/devices.hpp"
#include "paraes/kdf.hpp"
#include "paraes/kernels.hpp"
#include "paraes/secret.hpp"
#include "paraes/threads.hpp"
#include "paraes/version.hpp"
#include "src/c/common.hpp"

namespace paraes::c {
namespace {

std::string joined(const std::vector<std::string_view>& words) {
  std::string all;
  for (const std::string_view word : words) {
    if (!all.empty()) all += ' ';
    all += word;
  }
  return all;
}

const char* name_of(Timing timing) noexcept {
  switch (timing) {
    case Timing::constant:
      return "constant";
    case Timing::library:
      return "library";
    case Timing::leaky:
      break;
  }
  return "leaky";
}

// An entry of a list, which owns its strings.
struct KernelEntry {
  explicit KernelEntry(const KernelInfo& info)
      : name(info.name),
        variant(info.variant),
        features(joined(info.needs)),
        reason(info.reason),
        timing(info.timing),
        available(info.available) {}

  std::string name;
  std::string variant;
  std::string features;
  std::string reason;
  Timing timing;
  bool available;
};

// A string that is made once and stays valid; nullptr if `make` throws.
template <class Make>
const char* lasting(std::optional<std::string>& place, const Make& make) noexcept {
  static std::mutex mutex;
  const int code = call([&] {
    const std::lock_guard lock(mutex);
    if (!place) place.emplace(make());
  });
  return code == PARAES_OK ? place->c_str() : nullptr;
}

}  // namespace

Execution execution_of(const paraes_execution* given, int default_threads) {
  const auto options = options_at(given, "execution", sizeof(paraes_execution));
  Execution execution;
  execution.kernel = text_of(options.kernel);
  execution.device = text_of(options.device);
  if (execution.device == "auto") execution.device.clear();
  if (options.threads == 0) {
    execution.threads = default_threads;
  } else if (options.threads == PARAES_ALL_CORES) {
    execution.threads = 0;
  } else if (options.threads <= 4096) {
    execution.threads = static_cast<int>(options.threads);
  } else {
    throw InvalidArgument("threads: there are at most 4096, or PARAES_ALL_CORES, not " +
                          std::to_string(options.threads));
  }
  execution.allow_leaky = options.allow_leaky != 0;
  execution.fall_back = options.fall_back != 0;
  execution.device_memory = options.device_memory;
  return execution;
}

}  // namespace paraes::c

struct paraes_kernel_list {
  std::vector<paraes::c::KernelEntry> entries;
};
struct paraes_device_list {
  std::vector<paraes::DeviceInfo> entries;
};

namespace paraes::c {
namespace {

template <class List>
const auto& entry_at(const List* list, std::size_t index) {
  const auto& entries = require(list, "list").entries;
  if (index >= entries.size()) {
    throw InvalidArgument("index: the list has " + std::to_string(entries.size()) +
                          " entries, and none with the number " + std::to_string(index));
  }
  return entries[index];
}

}  // namespace
}  // namespace paraes::c

using paraes::c::call;

extern "C" {

const char* paraes_version() { return paraes::version(); }

int paraes_random_bytes(void* out, std::size_t bytes) {
  return call([&] { paraes::random_bytes(paraes::c::room_at(out, bytes, "out")); });
}

int paraes_random_key(void* key, std::size_t bytes) {
  return call([&] {
    const paraes::MutableBytes room = paraes::c::room_at(key, bytes, "key");
    if (bytes != 16 && bytes != 24 && bytes != 32 && bytes != 64) {
      paraes::c::refuse_size("key", bytes, "16, 24, 32 or 64 bytes");
    }
    do {
      paraes::random_bytes(room);
    } while (paraes::constant_time_equal(room.first(bytes / 2), room.last(bytes / 2)));
  });
}

void paraes_wipe(void* data, std::size_t bytes) {
  if (data != nullptr) paraes::secure_zero(data, bytes);
}

int paraes_available_cores() {
  int cores = 1;
  return call([&] { cores = paraes::available_cores(); }) == PARAES_OK ? cores : 1;
}

void paraes_limit_threads(unsigned most) { paraes::limit_threads(most); }

int paraes_kernels(int gpu, paraes_kernel_list** list) {
  return paraes::c::make_handle(list, [&] {
    auto made = std::make_unique<paraes_kernel_list>();
    for (const paraes::KernelInfo& info : gpu != 0 ? paraes::gpu_kernels() : paraes::kernels()) {
      made->entries.emplace_back(info);
    }
    return made.release();
  });
}

int paraes_select_kernel(const char* name, const char* device, int allow_leaky,
                         paraes_kernel_list** list) {
  return paraes::c::make_handle(list, [&] {
    auto made = std::make_unique<paraes_kernel_list>();
    made->entries.emplace_back(paraes::select_kernel(paraes::c::text_of(name),
                                                     paraes::c::text_of(device), allow_leaky != 0));
    return made.release();
  });
}

std::size_t paraes_kernel_count(const paraes_kernel_list* list) {
  return list == nullptr ? 0 : list->entries.size();
}

int paraes_kernel_at(const paraes_kernel_list* list, std::size_t index, paraes_kernel_info* info) {
  return call([&] {
    const paraes::c::KernelEntry& entry = paraes::c::entry_at(list, index);
    paraes_kernel_info filled = PARAES_KERNEL_INFO;
    filled.name = entry.name.c_str();
    filled.variant = entry.variant.c_str();
    filled.features = entry.features.c_str();
    filled.timing = paraes::c::name_of(entry.timing);
    filled.available = entry.available ? 1 : 0;
    filled.reason = entry.reason.c_str();
    paraes::c::fill(info, "info", sizeof(paraes_kernel_info), filled);
  });
}

void paraes_kernel_list_free(paraes_kernel_list* list) { delete list; }

const char* paraes_cpu_features() {
  static auto& features = *new std::optional<std::string>();  // valid while the process exits
  return paraes::c::lasting(features, [] { return paraes::c::joined(paraes::cpu_features()); });
}

const char* paraes_cpu_model() {
  static auto& model = *new std::optional<std::string>();
  return paraes::c::lasting(model, [] { return paraes::cpu_model(); });
}

int paraes_devices(paraes_device_list** list) {
  return paraes::c::make_handle(list, [] { return new paraes_device_list{paraes::devices()}; });
}

std::size_t paraes_device_count(const paraes_device_list* list) {
  return list == nullptr ? 0 : list->entries.size();
}

int paraes_device_at(const paraes_device_list* list, std::size_t index, paraes_device_info* info) {
  return call([&] {
    const paraes::DeviceInfo& entry = paraes::c::entry_at(list, index);
    paraes_device_info filled = PARAES_DEVICE_INFO;
    filled.id = entry.id.c_str();
    filled.name = entry.name.c_str();
    filled.driver = entry.driver.c_str();
    filled.target = entry.target.c_str();
    filled.same_as = entry.same_as.c_str();
    filled.memory_bytes = entry.memory_bytes;
    filled.processors = entry.processors;
    filled.is_cpu = entry.is_cpu ? 1 : 0;
    filled.available = entry.available ? 1 : 0;
    filled.reason = entry.reason.c_str();
    paraes::c::fill(info, "info", sizeof(paraes_device_info), filled);
  });
}

void paraes_device_list_free(paraes_device_list* list) { delete list; }

}  // extern "C"
