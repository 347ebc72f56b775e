#include "src/gpu/runtime/driver_library.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <system_error>

namespace paraes::gpu::driver {
namespace {

DynamicLibrary open_cuda_library() {
  return DynamicLibrary(
      std::array{"libcuda.so.1"},
      "CUDA needs the driver of an NVIDIA GPU: install it from NVIDIA or from your distribution "
      "(Debian: nvidia-driver, Ubuntu: nvidia-driver-XXX-server); start a container with access "
      "to the GPUs (docker run --gpus all)");
}

DynamicLibrary open_hip_library() {
  return DynamicLibrary(std::array{"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                                   "libamdhip64.so", "/opt/rocm/lib/libamdhip64.so"},
                        "HIP needs AMD's ROCm 5 or later: install its package hip-runtime-amd, or "
                        "libamdhip64-5 (Debian, Ubuntu)");
}

int attribute(const Runtime& runtime, int device, int number) {
  int value = 0;
  runtime.check(runtime.api().device_attribute, &value, number, device);
  return value;
}

// The target with its features, as in "gfx90a:sramecc+:xnack-". The layout of the properties
// differs between versions of ROCm, so search for the only member after the device name that begins
// with "gfx".
std::string hip_target(const Runtime& runtime, int device) {
  const DriverApi& api = runtime.api();
  const auto& call = api.hip_properties_6 ? api.hip_properties_6 : api.hip_properties;
  if (!call) throw Unavailable("this HIP has no " + std::string(call.name) + ": it is too old");
  std::string properties(most_property_bytes, '\0');
  runtime.check(call, static_cast<void*>(properties.data()), device);
  const std::size_t begin = properties.find("gfx", property_name_bytes);
  if (begin == std::string::npos) throw DeviceError(call.name + std::string(" names no target"));
  return properties.substr(begin, properties.find('\0', begin) - begin);
}

std::string compile_target(const Runtime& runtime, int device) {
  if (runtime.kind() == Kind::hip) return hip_target(runtime, device);
  return "sm_" + std::to_string(attribute(runtime, device, attribute_major)) +
         std::to_string(attribute(runtime, device, attribute_minor));
}

// The PCI address of the device; empty if the driver does not report it. CUDA writes capital
// letters, HIP small ones.
std::string bus_of(const Runtime& runtime, int device) {
  std::array<char, 32> text{};
  const auto& call = runtime.api().device_bus;
  if (!call || call.function(text.data(), static_cast<int>(text.size()), device) != 0) return "";
  std::array<unsigned, 4> parts{};
  const char* at = text.data();
  const char* const end = text.data() + std::strlen(text.data());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto [next, error] = std::from_chars(at, end, parts[i], 16);
    const char after = i < 2 ? ':' : i == 2 ? '.' : '\0';
    if (error != std::errc() || *next != after) return "";
    at = next + 1;
  }
  return bus_address(parts[0], parts[1], parts[2], parts[3]);
}

}  // namespace

bool loses_device(int code) {
  constexpr std::array codes = {ecc_uncorrectable,     nvlink_uncorrectable, illegal_address,
                                launch_timeout,        context_is_destroyed, assert_failed,
                                hardware_stack_error,  illegal_instruction,  misaligned_address,
                                invalid_address_space, invalid_pc,           launch_failed,
                                unknown_error};
  return std::find(codes.begin(), codes.end(), code) != codes.end();
}

Runtime::Runtime(Kind kind)
    : kind_(kind), library_(kind == Kind::cuda ? open_cuda_library() : open_hip_library()) {
  using enum DynamicLibrary::Need;
#define PARAES_LOAD(need, member, symbol) library_.load(need, #symbol, api_.member);
  if (kind == Kind::cuda) {
    PARAES_CUDA_CALLS(PARAES_LOAD)
  } else {
    PARAES_HIP_CALLS(PARAES_LOAD)
  }
#undef PARAES_LOAD
  initialise();
}

Compiler& Runtime::compiler() const {
  const std::lock_guard lock(mutex_);
  if (!compiler_) {
    compiler_ = kind_ == Kind::cuda ? open_nvrtc_for(version_number_) : open_hiprtc();
  }
  return *compiler_;
}

std::string Runtime::failure(const char* call, int code) const {
  const char* name = nullptr;
  const char* text = nullptr;
  if (api_.error_name && api_.error_name.function(code, &name) != success) name = nullptr;
  if (api_.error_text && api_.error_text.function(code, &text) != success) text = nullptr;
  if (api_.hip_error_name) name = api_.hip_error_name.function(code);
  if (api_.hip_error_text) text = api_.hip_error_text.function(code);
  clear_last_error();
  std::string message = std::string(call) + " failed: " + (name != nullptr ? name : "an error") +
                        " (" + std::to_string(code) + ")";
  if (text != nullptr && (name == nullptr || std::strcmp(name, text) != 0)) {
    message += std::string(", ") + text;
  }
  return message;
}

void Runtime::initialise() {
  const char* const vendor = kind_ == Kind::cuda ? "NVIDIA" : "AMD";
  const int code = api_.init.function(0);
  const bool none = code == no_device || code == invalid_device;
  if (none || code == stub_library) {
    throw Unavailable(
        failure(api_.init.name, code) +
        (none ? std::string("; this machine shows no ") + vendor + " GPU to this process"
              : "; the library is a stub: install the driver of the GPU"));
  }
  if (code != success) fail(api_.init, code, "");
  set_version();
  const int count_code = api_.device_count.function(&count_);
  if (count_code != success && count_code != no_device) {
    fail(api_.device_count, count_code, "");
  }
  if (count_code == no_device || count_ <= 0) {
    throw Unavailable(library_.name() + " sees no " + vendor +
                      " GPU: none is installed, its kernel module is not loaded, or this process "
                      "may not use it");
  }
}

void Runtime::set_version() {
  const auto& call = kind_ == Kind::cuda ? api_.version : api_.hip_version;
  if (!call) return;
  check(call, &version_number_);
  if (kind_ == Kind::cuda) {
    version_ = "CUDA " + std::to_string(version_number_ / 1000) + "." +
               std::to_string(version_number_ % 1000 / 10);
    return;
  }
  version_ = "HIP " + std::to_string(version_number_ / 10000000) + "." +
             std::to_string(version_number_ / 100000 % 100) + "." +
             std::to_string(version_number_ % 100000);
  if (version_number_ < least_hip_version) {
    throw Unavailable(library_.name() + " is " + version_ + ": install ROCm 5 or later");
  }
}

int attribute_or_none(const Runtime& runtime, int device, int number) try {
  return attribute(runtime, device, number);
} catch (const DeviceError&) {
  return 0;
}

int device_handle(const Runtime& runtime, unsigned index) {
  int device = 0;
  runtime.check(runtime.api().device, &device, static_cast<int>(index));
  return device;
}

std::string device_id(const Runtime& runtime, unsigned index) {
  return std::string(runtime.name()) + ":" + std::to_string(index);
}

DeviceInfo describe(const Runtime& runtime, unsigned index) {
  const int device = device_handle(runtime, index);
  const Attributes& attributes = runtime.attributes();
  DeviceInfo info;
  info.id = device_id(runtime, index);
  info.driver = runtime.version();
  std::array<char, 256> name{};
  runtime.check(runtime.api().device_name, name.data(), static_cast<int>(name.size() - 1), device);
  info.name = name.data();
  std::size_t bytes = 0;
  runtime.check(runtime.api().device_memory, &bytes, device);
  info.memory_bytes = bytes;
  const std::string target = compile_target(runtime, device);
  info.target = target.substr(0, target.find(':'));
  info.processors = static_cast<std::uint32_t>(attribute(runtime, device, attributes.processors));
  info.shared_bytes = static_cast<std::uint64_t>(
      std::max(attribute(runtime, device, attributes.shared_bytes),
               attribute_or_none(runtime, device, attributes.shared_bytes_opt_in)));
  info.max_threads = static_cast<std::uint32_t>(attribute(runtime, device, attributes.max_threads));
  info.bus = bus_of(runtime, device);
  info.available = true;
  return info;
}

}  // namespace paraes::gpu::driver
