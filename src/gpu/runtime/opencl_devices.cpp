#include "src/gpu/runtime/opencl_devices.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "src/gpu/runtime/runtime.hpp"

namespace paraes::gpu {
namespace cl {

namespace {

struct Code {
  Int number;
  const char* name;
};

// The codes that the calls of opencl_api.hpp return.
constexpr Code codes[] = {
    {-1, "CL_DEVICE_NOT_FOUND"},
    {-2, "CL_DEVICE_NOT_AVAILABLE"},
    {-3, "CL_COMPILER_NOT_AVAILABLE"},
    {-4, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
    {-5, "CL_OUT_OF_RESOURCES"},
    {-6, "CL_OUT_OF_HOST_MEMORY"},
    {-7, "CL_PROFILING_INFO_NOT_AVAILABLE"},
    {-11, "CL_BUILD_PROGRAM_FAILURE"},
    {-12, "CL_MAP_FAILURE"},
    {-14, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
    {-30, "CL_INVALID_VALUE"},
    {-36, "CL_INVALID_COMMAND_QUEUE"},
    {-38, "CL_INVALID_MEM_OBJECT"},
    {-42, "CL_INVALID_BINARY"},
    {-44, "CL_INVALID_PROGRAM"},
    {-45, "CL_INVALID_PROGRAM_EXECUTABLE"},
    {-46, "CL_INVALID_KERNEL_NAME"},
    {-48, "CL_INVALID_KERNEL"},
    {-49, "CL_INVALID_ARG_INDEX"},
    {-51, "CL_INVALID_ARG_SIZE"},
    {-52, "CL_INVALID_KERNEL_ARGS"},
    {-54, "CL_INVALID_WORK_GROUP_SIZE"},
    {-55, "CL_INVALID_WORK_ITEM_SIZE"},
    {-61, "CL_INVALID_BUFFER_SIZE"},
    {-63, "CL_INVALID_GLOBAL_WORK_SIZE"},
    {-1001, "CL_PLATFORM_NOT_FOUND_KHR"},
};

template <class Id>
std::string text_of(const Call<Int(Id, Uint, std::size_t, void*, std::size_t*)>& call, Id id,
                    Uint property) {
  std::size_t bytes = 0;
  check(call, id, property, 0, nullptr, &bytes);
  std::string text(bytes, '\0');
  check(call, id, property, bytes, text.data(), nullptr);
  while (!text.empty() && (text.back() == '\0' || text.back() == ' ')) text.pop_back();
  return text;
}

std::string device_text(const ClApi& api, DeviceId device, Uint property) {
  return text_of(api.clGetDeviceInfo, device, property);
}

std::string platform_text(const ClApi& api, Platform platform) {
  return text_of(api.clGetPlatformInfo, platform, platform_name);
}

// Whether the text, which begins with the name of a platform, is PoCL's.
bool names_pocl(std::string_view text) { return text.rfind("Portable Computing Language", 0) == 0; }

// PoCL asks hwloc for the processors when its devices are listed, and calls abort() if /sys does
// not say: in a chroot without it, this process would end.
bool would_abort(const ClApi& api, Platform platform) {
  return names_pocl(platform_text(api, platform)) && access("/sys/devices/system/cpu", F_OK) != 0;
}

bool has_word(const std::string& list, const std::string& word) {
  return (' ' + list + ' ').find(' ' + word + ' ') != std::string::npos;
}

// The PCI address, which OpenCL reports only through extensions. Throws DeviceError if a query
// fails.
std::string ask_for_bus(const ClApi& api, DeviceId id) {
  const std::string extensions = device_text(api, id, device_extensions);
  if (has_word(extensions, "cl_khr_pci_bus_info")) {
    const auto info = value_of<PciBusInfo>(api.clGetDeviceInfo, id, device_pci_bus_info);
    return bus_address(info.domain, info.bus, info.device, info.function);
  }
  if (has_word(extensions, "cl_nv_device_attribute_query")) {
    const auto slot = value_of<Uint>(api.clGetDeviceInfo, id, device_pci_slot_id_nv);
    return bus_address(value_of<Uint>(api.clGetDeviceInfo, id, device_pci_domain_id_nv),
                       value_of<Uint>(api.clGetDeviceInfo, id, device_pci_bus_id_nv), slot / 8,
                       slot % 8);
  }
  if (has_word(extensions, "cl_amd_device_attribute_query")) {
    const auto topology = value_of<TopologyAmd>(api.clGetDeviceInfo, id, device_topology_amd);
    if (topology.type != topology_type_pcie_amd) return "";
    return bus_address(0, topology.bus, topology.device, topology.function);
  }
  return "";
}

// The PCI address; empty if the driver does not report it.
std::string bus_of(const ClApi& api, DeviceId id) try {
  return ask_for_bus(api, id);
} catch (const DeviceError&) {
  return "";
}

// Most work-items of a work-group with one dimension.
std::uint32_t most_threads(const ClApi& api, DeviceId id) {
  std::size_t most = value_of<std::size_t>(api.clGetDeviceInfo, id, device_max_work_group_size);
  // One number for each dimension.
  std::size_t bytes = 0;
  check(api.clGetDeviceInfo, id, device_max_work_item_sizes, 0, nullptr, &bytes);
  std::vector<std::size_t> sizes(bytes / sizeof most);
  check(api.clGetDeviceInfo, id, device_max_work_item_sizes, bytes, sizes.data(), nullptr);
  if (!sizes.empty()) most = std::min(most, sizes[0]);
  return static_cast<std::uint32_t>(std::min<std::size_t>(most, UINT32_MAX));
}

}  // namespace

std::string failure(const std::string& call, Int code) {
  const auto* const known = std::find_if(std::begin(codes), std::end(codes),
                                         [&](const Code& row) { return row.number == code; });
  return call + " failed: " + (known != std::end(codes) ? known->name : "an error") + " (" +
         std::to_string(code) + ")";
}

void check(const std::string& call, Int code) {
  if (code == success) return;
  if (code == mem_object_allocation_failure || code == out_of_resources ||
      code == out_of_host_memory || code == invalid_buffer_size) {
    throw OutOfMemory(failure(call, code) + ", out of memory");
  }
  throw DeviceError(failure(call, code));
}

std::vector<FoundDevice> find_devices(const ClApi& api) {
  Uint count = 0;
  const Int code = api.clGetPlatformIDs(0, nullptr, &count);
  if (code != platform_not_found_khr) check("clGetPlatformIDs", code);
  std::vector<Platform> platforms(count);
  if (count != 0) check(api.clGetPlatformIDs, count, platforms.data(), nullptr);
  std::string reason =
      "the OpenCL loader finds no device: install the driver of the GPU, or pocl-opencl-icd to use "
      "the CPU";
  std::vector<FoundDevice> found;
  for (Platform platform : platforms) {
    if (would_abort(api, platform)) {
      reason = "PoCL does not work without /sys: mount it";
      continue;
    }
    Uint devices = 0;
    const Int status = api.clGetDeviceIDs(platform, device_type_all, 0, nullptr, &devices);
    if (status == device_not_found || devices == 0) continue;
    check("clGetDeviceIDs", status);
    std::vector<DeviceId> ids(devices);
    check(api.clGetDeviceIDs, platform, device_type_all, devices, ids.data(), nullptr);
    for (DeviceId id : ids) found.push_back({platform, id});
  }
  if (found.empty()) throw Unavailable(reason);
  return found;
}

DeviceInfo describe(const ClApi& api, const FoundDevice& found, std::size_t index) {
  DeviceInfo info;
  info.id = "opencl:" + std::to_string(index);
  const DeviceId id = found.device;
  info.name = device_text(api, id, device_name);
  info.memory_bytes = value_of<Ulong>(api.clGetDeviceInfo, id, device_global_mem_size);
  info.driver = platform_text(api, found.platform) + " " + device_text(api, id, driver_version);
  info.target = info.name;
  info.processors = value_of<Uint>(api.clGetDeviceInfo, id, device_max_compute_units);
  info.shared_bytes = value_of<Ulong>(api.clGetDeviceInfo, id, device_local_mem_size);
  info.max_threads = most_threads(api, id);
  info.is_cpu = (value_of<Bitfield>(api.clGetDeviceInfo, id, device_type) & device_type_cpu) != 0;
  info.bus = bus_of(api, id);
  const bool compiles = value_of<Uint>(api.clGetDeviceInfo, id, device_compiler_available) != 0;
  if (compiles) info.compiler = device_text(api, id, device_version);
  if (value_of<Uint>(api.clGetDeviceInfo, id, device_available) == 0) {
    info.reason = "its driver reports it as not available";
  } else if (value_of<Uint>(api.clGetDeviceInfo, id, device_endian_little) == 0) {
    info.reason = "it is big-endian, which the kernels do not support";
  } else if (!compiles) {
    info.reason = "its driver has no compiler";
  }
  info.available = info.reason.empty();
  return info;
}

}  // namespace cl

bool is_pocl(const DeviceInfo& info) { return cl::names_pocl(info.driver); }

}  // namespace paraes::gpu
