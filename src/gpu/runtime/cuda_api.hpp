// The parts of CUDA's driver API, of HIP, NVRTC and hipRTC that paraes uses, declared by hand so
// that a build needs no headers. HIP's calls match CUDA's one for one.
// tests/gpu/declarations_cuda.cpp and declarations_hip.cpp compare everything with the headers of
// NVIDIA and AMD.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "src/core/dynamic_library.hpp"
#include "src/gpu/runtime/runtime.hpp"

namespace paraes::gpu::driver {

using paraes::Call;

// Calls return a code, and handles are pointers. CUdeviceptr is an integer and hipDeviceptr_t a
// pointer; both are passed as this integer.
using Pointer = std::uint64_t;
using Context = void*;
using Module = void*;
using Kernel = void*;
using Stream = void*;
using Event = void*;

// Every entry point: X, which is passed on, whether it is needed, the member of DriverApi, its
// symbols in CUDA and in HIP, or in the one of them that has it, and its type. cuda.h hides the
// versions (_v2) behind macros of the plain names; the plain symbols are older interfaces.
//
// In CUDA a thread works in a context, in HIP on a device. HIP has no set_kernel_attribute:
// hipFuncSetAttribute does not accept kernels of modules, and HIP needs no permission for shared
// memory. hip_version is the version of the runtime, which contains the driver. HIP keeps the last
// error of each thread until hip_last_error reads it.
#define PARAES_DRIVER_CALLS(BOTH, CUDA, HIP, X)                                                    \
  BOTH(X, required, init, cuInit, hipInit, int(unsigned))                                          \
  CUDA(X, optional, version, cuDriverGetVersion, int(int*))                                        \
  HIP(X, required, hip_version, hipRuntimeGetVersion, int(int*))                                   \
  BOTH(X, required, device_count, cuDeviceGetCount, hipGetDeviceCount, int(int*))                  \
  BOTH(X, required, device, cuDeviceGet, hipDeviceGet, int(int*, int))                             \
  BOTH(X, required, device_name, cuDeviceGetName, hipDeviceGetName, int(char*, int, int))          \
  BOTH(X, required, device_memory, cuDeviceTotalMem_v2, hipDeviceTotalMem, int(std::size_t*, int)) \
  BOTH(X, required, device_attribute, cuDeviceGetAttribute, hipDeviceGetAttribute,                 \
       int(int*, int, int))                                                                        \
  BOTH(X, optional, device_bus, cuDeviceGetPCIBusId, hipDeviceGetPCIBusId, int(char*, int, int))   \
  CUDA(X, required, retain_context, cuDevicePrimaryCtxRetain, int(Context*, int))                  \
  CUDA(X, required, release_context, cuDevicePrimaryCtxRelease_v2, int(int))                       \
  CUDA(X, required, get_context, cuCtxGetCurrent, int(Context*))                                   \
  CUDA(X, required, set_context, cuCtxSetCurrent, int(Context))                                    \
  HIP(X, required, get_device, hipGetDevice, int(int*))                                            \
  HIP(X, required, set_device, hipSetDevice, int(int))                                             \
  BOTH(X, required, memory_info, cuMemGetInfo_v2, hipMemGetInfo, int(std::size_t*, std::size_t*))  \
  BOTH(X, required, allocate, cuMemAlloc_v2, hipMalloc, int(Pointer*, std::size_t))                \
  BOTH(X, required, free, cuMemFree_v2, hipFree, int(Pointer))                                     \
  BOTH(X, required, allocate_host, cuMemHostAlloc, hipHostMalloc,                                  \
       int(void**, std::size_t, unsigned))                                                         \
  BOTH(X, required, free_host, cuMemFreeHost, hipHostFree, int(void*))                             \
  BOTH(X, optional, host_pointer, cuMemHostGetDevicePointer_v2, hipHostGetDevicePointer,           \
       int(Pointer*, void*, unsigned))                                                             \
  BOTH(X, optional, pointer_attributes, cuPointerGetAttributes, hipDrvPointerGetAttributes,        \
       int(unsigned, int*, void**, Pointer))                                                       \
  BOTH(X, required, upload, cuMemcpyHtoDAsync_v2, hipMemcpyHtoDAsync,                              \
       int(Pointer, const void*, std::size_t, Stream))                                             \
  BOTH(X, required, download, cuMemcpyDtoHAsync_v2, hipMemcpyDtoHAsync,                            \
       int(void*, Pointer, std::size_t, Stream))                                                   \
  BOTH(X, required, fill, cuMemsetD8Async, hipMemsetD8Async,                                       \
       int(Pointer, unsigned char, std::size_t, Stream))                                           \
  BOTH(X, required, copy, cuMemcpyDtoDAsync_v2, hipMemcpyDtoDAsync,                                \
       int(Pointer, Pointer, std::size_t, Stream))                                                 \
  BOTH(X, required, create_stream, cuStreamCreate, hipStreamCreateWithFlags,                       \
       int(Stream*, unsigned))                                                                     \
  BOTH(X, required, destroy_stream, cuStreamDestroy_v2, hipStreamDestroy, int(Stream))             \
  BOTH(X, required, finish_stream, cuStreamSynchronize, hipStreamSynchronize, int(Stream))         \
  BOTH(X, optional, finish_device, cuCtxSynchronize, hipDeviceSynchronize, int())                  \
  CUDA(X, optional, stream_context, cuStreamGetCtx, int(Stream, Context*))                         \
  BOTH(X, required, stream_wait, cuStreamWaitEvent, hipStreamWaitEvent,                            \
       int(Stream, Event, unsigned))                                                               \
  BOTH(X, optional, stream_captured, cuStreamIsCapturing, hipStreamIsCapturing, int(Stream, int*)) \
  BOTH(X, required, create_event, cuEventCreate, hipEventCreateWithFlags, int(Event*, unsigned))   \
  BOTH(X, required, destroy_event, cuEventDestroy_v2, hipEventDestroy, int(Event))                 \
  BOTH(X, required, record_event, cuEventRecord, hipEventRecord, int(Event, Stream))               \
  BOTH(X, required, query_event, cuEventQuery, hipEventQuery, int(Event))                          \
  BOTH(X, required, wait_for_event, cuEventSynchronize, hipEventSynchronize, int(Event))           \
  BOTH(X, required, milliseconds, cuEventElapsedTime, hipEventElapsedTime,                         \
       int(float*, Event, Event))                                                                  \
  BOTH(X, required, load_module, cuModuleLoadData, hipModuleLoadData, int(Module*, const void*))   \
  BOTH(X, required, unload_module, cuModuleUnload, hipModuleUnload, int(Module))                   \
  BOTH(X, required, find_kernel, cuModuleGetFunction, hipModuleGetFunction,                        \
       int(Kernel*, Module, const char*))                                                          \
  CUDA(X, optional, set_kernel_attribute, cuFuncSetAttribute, int(Kernel, int, int))               \
  BOTH(X, required, launch, cuLaunchKernel, hipModuleLaunchKernel,                                 \
       int(Kernel, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream,   \
           void**, void**))                                                                        \
  CUDA(X, optional, error_name, cuGetErrorName, int(int, const char**))                            \
  CUDA(X, optional, error_text, cuGetErrorString, int(int, const char**))                          \
  HIP(X, optional, hip_error_name, hipGetErrorName, const char*(int))                              \
  HIP(X, optional, hip_error_text, hipGetErrorString, const char*(int))                            \
  HIP(X, optional, hip_last_error, hipGetLastError, int())                                         \
  HIP(X, optional, hip_properties_6, hipGetDevicePropertiesR0600, int(void*, int))                 \
  HIP(X, optional, hip_properties, hipGetDeviceProperties, int(void*, int))

#define PARAES_FIRST_OF(X, need, member, first, second, ...) X(need, member, first)
#define PARAES_SECOND_OF(X, need, member, first, second, ...) X(need, member, second)
#define PARAES_ONLY(X, need, member, symbol, ...) X(need, member, symbol)
#define PARAES_NONE(...)
// X(need, member, symbol) for each entry point of one of the two.
#define PARAES_CUDA_CALLS(X) PARAES_DRIVER_CALLS(PARAES_FIRST_OF, PARAES_ONLY, PARAES_NONE, X)
#define PARAES_HIP_CALLS(X) PARAES_DRIVER_CALLS(PARAES_SECOND_OF, PARAES_NONE, PARAES_ONLY, X)

#define PARAES_MEMBER_OF_BOTH(X, need, member, first, second, ...) Call<__VA_ARGS__> member;
#define PARAES_MEMBER(X, need, member, symbol, ...) Call<__VA_ARGS__> member;

struct DriverApi {
  PARAES_DRIVER_CALLS(PARAES_MEMBER_OF_BOTH, PARAES_MEMBER, PARAES_MEMBER, )
};

// Numbers that are the same in CUDA and HIP.
inline constexpr int success = 0;
inline constexpr int out_of_memory = 2;
inline constexpr int no_device = 100;
inline constexpr int invalid_device = 101;
inline constexpr int invalid_image = 200;
inline constexpr int no_binary_for_gpu = 209;
inline constexpr int ecc_uncorrectable = 214;
inline constexpr int not_ready = 600;
inline constexpr int not_captured = 0;
inline constexpr int invalid_ptx = 218;
inline constexpr int illegal_address = 700;
inline constexpr int launch_timeout = 702;
inline constexpr int context_is_destroyed = 709;
inline constexpr int assert_failed = 710;
inline constexpr int launch_failed = 719;
inline constexpr int unknown_error = 999;
inline constexpr unsigned stream_non_blocking = 1;
inline constexpr unsigned event_default = 0;
inline constexpr unsigned event_blocking = 1;
inline constexpr unsigned event_without_time = 2;
inline constexpr unsigned host_portable = 1;
inline constexpr unsigned host_mapped = 2;

// Attributes of a pointer. The driver leaves or sets them to zero for memory that it does not know.
inline constexpr int pointer_context = 1;  // CUDA only
inline constexpr int pointer_memory_type = 2;
inline constexpr int pointer_is_managed = 8;
inline constexpr int pointer_device = 9;
inline constexpr int pointer_range_start = 11;
inline constexpr int pointer_range_bytes = 12;
// Values of pointer_memory_type. HIP uses CUDA's from version 6 on.
inline constexpr int memory_type_host = 1;
inline constexpr int memory_type_host_of_hip_5 = 0;

// CUDA only.
inline constexpr int stub_library = 34;
inline constexpr int nvlink_uncorrectable = 220;
inline constexpr int unsupported_ptx_version = 222;
inline constexpr int hardware_stack_error = 714;
inline constexpr int illegal_instruction = 715;
inline constexpr int misaligned_address = 716;
inline constexpr int invalid_address_space = 717;
inline constexpr int invalid_pc = 718;
inline constexpr int kernel_dynamic_shared_bytes = 8;
inline constexpr int attribute_major = 75;
inline constexpr int attribute_minor = 76;

// Attributes of a device.
struct Attributes {
  int max_threads;
  int processors;
  int shared_bytes;
  int shared_bytes_opt_in;
  int maps_host_memory;
};

inline constexpr Attributes cuda_attributes = {.max_threads = 1,
                                               .processors = 16,
                                               .shared_bytes = 8,
                                               .shared_bytes_opt_in = 97,
                                               .maps_host_memory = 19};

// ROCm 5, 6 and 7 use the same numbers for attributes. Older versions differ and are refused.
inline constexpr int least_hip_version = 50000000;
inline constexpr int hip_version_6 = 60000000;

inline constexpr Attributes hip_attributes = {.max_threads = 56,
                                              .processors = 63,
                                              .shared_bytes = 74,
                                              .shared_bytes_opt_in = 75,
                                              .maps_host_memory = 3};

// hipDeviceProp_t has about 800 bytes in ROCm 5 and 1500 from ROCm 6 on. The offset of the target's
// name differs, but it always follows the name of the device.
inline constexpr std::size_t most_property_bytes = std::size_t{64} << 10;
inline constexpr std::size_t property_name_bytes = 256;

// ---- Run-time compilers

using RtcProgram = void*;

// Like PARAES_DRIVER_CALLS. hiprtcVersion is not used, because it always returns 9.0.
#define PARAES_RTC_CALLS(BOTH, CUDA, HIP, X)                                                    \
  CUDA(X, required, version, nvrtcVersion, int(int*, int*))                                     \
  CUDA(X, optional, target_count, nvrtcGetNumSupportedArchs, int(int*))                         \
  CUDA(X, optional, targets, nvrtcGetSupportedArchs, int(int*))                                 \
  BOTH(X, required, create, nvrtcCreateProgram, hiprtcCreateProgram,                            \
       int(RtcProgram*, const char*, const char*, int, const char* const*, const char* const*)) \
  BOTH(X, required, destroy, nvrtcDestroyProgram, hiprtcDestroyProgram, int(RtcProgram*))       \
  BOTH(X, required, compile, nvrtcCompileProgram, hiprtcCompileProgram,                         \
       int(RtcProgram, int, const char* const*))                                                \
  BOTH(X, required, log_bytes, nvrtcGetProgramLogSize, hiprtcGetProgramLogSize,                 \
       int(RtcProgram, std::size_t*))                                                           \
  BOTH(X, required, log, nvrtcGetProgramLog, hiprtcGetProgramLog, int(RtcProgram, char*))       \
  BOTH(X, required, code_bytes, nvrtcGetCUBINSize, hiprtcGetCodeSize,                           \
       int(RtcProgram, std::size_t*))                                                           \
  BOTH(X, required, code, nvrtcGetCUBIN, hiprtcGetCode, int(RtcProgram, char*))                 \
  BOTH(X, optional, error_name, nvrtcGetErrorString, hiprtcGetErrorString, const char*(int))

#define PARAES_NVRTC_CALLS(X) PARAES_RTC_CALLS(PARAES_FIRST_OF, PARAES_ONLY, PARAES_NONE, X)
#define PARAES_HIPRTC_CALLS(X) PARAES_RTC_CALLS(PARAES_SECOND_OF, PARAES_NONE, PARAES_ONLY, X)

struct RtcApi {
  PARAES_RTC_CALLS(PARAES_MEMBER_OF_BOTH, PARAES_MEMBER, PARAES_MEMBER, )
};

// NVRTC and hipRTC.
inline constexpr int rtc_success = 0;
inline constexpr int rtc_invalid_option = 5;

// Like open_nvrtc(), but for a driver of this version (12040 for CUDA 12.4): tries the newest NVRTC
// that is not newer than the driver first, then older ones, then newer ones from the oldest on.
[[nodiscard]] std::unique_ptr<Compiler> open_nvrtc_for(int driver_version);

}  // namespace paraes::gpu::driver
