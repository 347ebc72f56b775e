// The parts of HIP and hipRTC that paraes uses, declared by hand so that a build needs no headers:
// the names and numbers that differ from CUDA's. tests/gpu/declarations_hip.cpp compares them with
// AMD's headers.
#pragma once

#include "src/gpu/runtime/cuda_api.hpp"

namespace paraes::gpu::driver {

// There is no set_kernel_attribute: hipFuncSetAttribute does not accept kernels of modules, and HIP
// needs no permission for shared memory. `version` is the version of the runtime, which contains
// the driver.
#define PARAES_HIP_CALLS(X)                                  \
  X(required, init, hipInit)                                 \
  X(required, version, hipRuntimeGetVersion)                 \
  X(required, device_count, hipGetDeviceCount)               \
  X(required, device, hipDeviceGet)                          \
  X(required, device_name, hipDeviceGetName)                 \
  X(required, device_memory, hipDeviceTotalMem)              \
  X(required, device_attribute, hipDeviceGetAttribute)       \
  X(optional, device_bus, hipDeviceGetPCIBusId)              \
  X(required, get_device, hipGetDevice)                      \
  X(required, set_device, hipSetDevice)                      \
  X(required, memory_info, hipMemGetInfo)                    \
  X(required, allocate, hipMalloc)                           \
  X(required, free, hipFree)                                 \
  X(required, allocate_host, hipHostMalloc)                  \
  X(required, free_host, hipHostFree)                        \
  X(optional, host_pointer, hipHostGetDevicePointer)         \
  X(required, upload, hipMemcpyHtoDAsync)                    \
  X(required, download, hipMemcpyDtoHAsync)                  \
  X(required, fill, hipMemsetD8Async)                        \
  X(required, copy, hipMemcpyDtoDAsync)                      \
  X(required, create_stream, hipStreamCreateWithFlags)       \
  X(required, destroy_stream, hipStreamDestroy)              \
  X(required, finish_stream, hipStreamSynchronize)           \
  X(optional, stream_captured, hipStreamIsCapturing)         \
  X(required, create_event, hipEventCreateWithFlags)         \
  X(required, destroy_event, hipEventDestroy)                \
  X(required, record_event, hipEventRecord)                  \
  X(required, query_event, hipEventQuery)                    \
  X(required, wait_for_event, hipEventSynchronize)           \
  X(required, milliseconds, hipEventElapsedTime)             \
  X(required, load_module, hipModuleLoadData)                \
  X(required, unload_module, hipModuleUnload)                \
  X(required, find_kernel, hipModuleGetFunction)             \
  X(required, launch, hipModuleLaunchKernel)                 \
  X(optional, hip_error_name, hipGetErrorName)               \
  X(optional, hip_error_text, hipGetErrorString)             \
  X(optional, hip_last_error, hipGetLastError)               \
  X(optional, hip_properties_6, hipGetDevicePropertiesR0600) \
  X(optional, hip_properties, hipGetDeviceProperties)

// ROCm 5, 6 and 7 use the same numbers for attributes. Older versions differ and are refused.
inline constexpr int least_hip_version = 50000000;

inline constexpr Attributes hip_attributes = {.max_threads = 56,
                                              .processors = 63,
                                              .shared_bytes = 74,
                                              .shared_bytes_opt_in = 75,
                                              .maps_host_memory = 3};

// hipDeviceProp_t has about 800 bytes in ROCm 5 and 1500 from ROCm 6 on. The offset of the target's
// name differs, but it always follows the name of the device.
inline constexpr std::size_t most_property_bytes = std::size_t{64} << 10;
inline constexpr std::size_t property_name_bytes = 256;

// hiprtcVersion is not used, because it always returns 9.0.
#define PARAES_HIPRTC_CALLS(X)                    \
  X(required, create, hiprtcCreateProgram)        \
  X(required, destroy, hiprtcDestroyProgram)      \
  X(required, compile, hiprtcCompileProgram)      \
  X(required, log_bytes, hiprtcGetProgramLogSize) \
  X(required, log, hiprtcGetProgramLog)           \
  X(required, code_bytes, hiprtcGetCodeSize)      \
  X(required, code, hiprtcGetCode)                \
  X(optional, error_name, hiprtcGetErrorString)

}  // namespace paraes::gpu::driver
