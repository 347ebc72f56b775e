// The OpenCL loader, its errors, and the devices that it finds.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "paraes/devices.hpp"
#include "paraes/error.hpp"
#include "src/core/dynamic_library.hpp"
#include "src/gpu/runtime/opencl_api.hpp"

namespace paraes::gpu::cl {

// "clFinish failed: CL_OUT_OF_RESOURCES (-5)".
[[nodiscard]] std::string failure(const std::string& call, Int code);

// Throws OutOfMemory or another DeviceError unless the code of `call` is success.
void check(const std::string& call, Int code);

template <class... P, class... A>
void check(const Call<Int(P...)>& call, A... arguments) {
  if (const Int code = call(arguments...); code != success) check(call.name, code);
}

// The result of a call whose last argument, which is not given here, becomes its code.
template <class R, class... P, class... A>
[[nodiscard]] R checked(const Call<R(P...)>& call, A... arguments) {
  Int code = success;
  const R result = call(arguments..., &code);
  check(call.name, code);
  return result;
}

// A property of an object, which a call of clGet…Info reports.
template <class T, class Id>
[[nodiscard]] T value_of(const Call<Int(Id, Uint, std::size_t, void*, std::size_t*)>& call, Id id,
                         Uint property) {
  T value{};
  // NOLINTNEXTLINE(bugprone-sizeof-expression): handles are pointers, and asked for as such
  check(call, id, property, sizeof(T), &value, nullptr);
  return value;
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
T queue_property(const ClApi& api, CommandQueue queue, Uint property) {
  if (queue == nullptr) throw InvalidArgument("OpenCL has no default queue: name one");
  return value_of<T>(api.clGetCommandQueueInfo, queue, property);
}

struct FoundDevice {
  Platform platform;
  DeviceId device;
};

// Every device of every platform that the loader finds. Throws Unavailable if there is none.
[[nodiscard]] std::vector<FoundDevice> find_devices(const ClApi& api);

[[nodiscard]] DeviceInfo describe(const ClApi& api, const FoundDevice& found, std::size_t index);

}  // namespace paraes::gpu::cl
