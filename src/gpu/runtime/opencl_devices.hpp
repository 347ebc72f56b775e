// The OpenCL loader, its errors, and the devices that it finds.
#pragma once

#include <cstddef>
#include <vector>

#include "paraes/devices.hpp"
#include "paraes/error.hpp"
#include "src/core/dynamic_library.hpp"
#include "src/gpu/runtime/opencl_api.hpp"

namespace paraes::gpu::cl {

// The name of a code that the calls of opencl_api.hpp return.
[[nodiscard]] const char* code_name(Int code);

// Throws OutOfMemory or another DeviceError.
[[noreturn]] void fail(const char* call, Int code);

inline void check(const char* call, Int code) {
  if (code != success) fail(call, code);
}

// The loader, opened. Throws Unavailable.
struct Loaded {
  DynamicLibrary library;
  ClApi api;

  Loaded()
      : library(std::array{"libOpenCL.so.1", "libOpenCL.so"},
                "install the loader (Debian: ocl-icd-libopencl1) and the driver of the device"),
        api(library) {}
};

template <class T>
T device_number(const ClApi& api, DeviceId device, Uint property) {
  T value{};
  // NOLINTNEXTLINE(bugprone-sizeof-expression): handles are pointers, and asked for as such
  check("clGetDeviceInfo", api.clGetDeviceInfo(device, property, sizeof(T), &value, nullptr));
  return value;
}

template <class T>
T queue_property(const ClApi& api, CommandQueue queue, Uint property) {
  if (queue == nullptr) throw InvalidArgument("OpenCL has no default queue: name one");
  T value{};
  check("clGetCommandQueueInfo",
        // NOLINTNEXTLINE(bugprone-sizeof-expression): as above
        api.clGetCommandQueueInfo(queue, property, sizeof(T), &value, nullptr));
  return value;
}

struct FoundDevice {
  Platform platform;
  DeviceId device;
};

// Every device of every platform that the loader finds. Throws Unavailable if there is none.
[[nodiscard]] std::vector<FoundDevice> find_devices(const ClApi& api);

[[nodiscard]] DeviceInfo describe(const ClApi& api, const FoundDevice& found, std::size_t index);

}  // namespace paraes::gpu::cl
