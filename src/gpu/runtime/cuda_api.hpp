// The parts of CUDA's driver API and of NVRTC that paraes uses, declared by hand so that a build
// needs no headers. HIP and hipRTC share these tables, because their calls match one for one.
// Names, types and numbers are those of NVIDIA's headers; tests/gpu/declarations_cuda.cpp compares
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "src/core/dynamic_library.hpp"
#include "src/gpu/runtime/runtime.hpp"

namespace paraes::gpu::driver {

// An entry point and its name in the library.
template <class Signature>
struct Call {
  const char* name = nullptr;
  Signature* function = nullptr;  // nullptr if the library lacks it

  [[nodiscard]] explicit operator bool() const noexcept { return function != nullptr; }
};

// Calls return a code, and handles are pointers. CUdeviceptr is an integer and hipDeviceptr_t a
// pointer; both are passed as this integer.
using Pointer = std::uint64_t;
using Context = void*;
using Module = void*;
using Kernel = void*;
using Stream = void*;
using Event = void*;

struct DriverApi {
  Call<int(unsigned)> init;
  Call<int(int*)> version;
  Call<int(int*)> device_count;
  Call<int(int*, int)> device;
  Call<int(char*, int, int)> device_name;
  Call<int(std::size_t*, int)> device_memory;
  Call<int(int*, int, int)> device_attribute;
  Call<int(char*, int, int)> device_bus;

  // CUDA: a thread works in a context.
  Call<int(Context*, int)> retain_context;
  Call<int(int)> release_context;
  Call<int(Context*)> get_context;
  Call<int(Context)> set_context;
  // HIP: a thread works on a device.
  Call<int(int*)> get_device;
  Call<int(int)> set_device;

  Call<int(std::size_t*, std::size_t*)> memory_info;
  Call<int(Pointer*, std::size_t)> allocate;
  Call<int(Pointer)> free;
  Call<int(void**, std::size_t, unsigned)> allocate_host;
  Call<int(void*)> free_host;
  Call<int(Pointer*, void*, unsigned)> host_pointer;

  Call<int(Pointer, const void*, std::size_t, Stream)> upload;
  Call<int(void*, Pointer, std::size_t, Stream)> download;
  Call<int(Pointer, unsigned char, std::size_t, Stream)> fill;
  Call<int(Pointer, Pointer, std::size_t, Stream)> copy;

  Call<int(Stream*, unsigned)> create_stream;
  Call<int(Stream)> destroy_stream;
  Call<int(Stream)> finish_stream;
  Call<int(Stream, Context*)> stream_context;  // CUDA
  Call<int(Stream, int*)> stream_captured;

  Call<int(Event*, unsigned)> create_event;
  Call<int(Event)> destroy_event;
  Call<int(Event, Stream)> record_event;
  Call<int(Event)> query_event;
  Call<int(Event)> wait_for_event;
  Call<int(float*, Event, Event)> milliseconds;

  Call<int(Module*, const void*)> load_module;
  Call<int(Module)> unload_module;
  Call<int(Kernel*, Module, const char*)> find_kernel;
  Call<int(Kernel, int, int)> set_kernel_attribute;
  Call<int(Kernel, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream,
           void**, void**)>
      launch;

  // CUDA.
  Call<int(int, const char**)> error_name;
  Call<int(int, const char**)> error_text;
  // HIP. It also keeps the last error of each thread until hip_last_error reads it.
  Call<const char*(int)> hip_error_name;
  Call<const char*(int)> hip_error_text;
  Call<int()> hip_last_error;
  Call<int(void*, int)> hip_properties_6;
  Call<int(void*, int)> hip_properties;
};

enum class Need : std::uint8_t { required, optional };

template <class Signature>
void load(const DynamicLibrary& library, Need need, const char* name, Call<Signature>& call) {
  call.name = name;
  if (need == Need::required) {
    library.require(name, call.function);
  } else {
    library.find(name, call.function);
  }
}

// X(need, member of DriverApi, symbol). cuda.h hides the versions (_v2) behind macros of the plain
// names; the plain symbols are older interfaces.
#define PARAES_CUDA_CALLS(X)                                 \
  X(required, init, cuInit)                                  \
  X(optional, version, cuDriverGetVersion)                   \
  X(required, device_count, cuDeviceGetCount)                \
  X(required, device, cuDeviceGet)                           \
  X(required, device_name, cuDeviceGetName)                  \
  X(required, device_memory, cuDeviceTotalMem_v2)            \
  X(required, device_attribute, cuDeviceGetAttribute)        \
  X(optional, device_bus, cuDeviceGetPCIBusId)               \
  X(required, retain_context, cuDevicePrimaryCtxRetain)      \
  X(required, release_context, cuDevicePrimaryCtxRelease_v2) \
  X(required, get_context, cuCtxGetCurrent)                  \
  X(required, set_context, cuCtxSetCurrent)                  \
  X(required, memory_info, cuMemGetInfo_v2)                  \
  X(required, allocate, cuMemAlloc_v2)                       \
  X(required, free, cuMemFree_v2)                            \
  X(required, allocate_host, cuMemHostAlloc)                 \
  X(required, free_host, cuMemFreeHost)                      \
  X(optional, host_pointer, cuMemHostGetDevicePointer_v2)    \
  X(required, upload, cuMemcpyHtoDAsync_v2)                  \
  X(required, download, cuMemcpyDtoHAsync_v2)                \
  X(required, fill, cuMemsetD8Async)                         \
  X(required, copy, cuMemcpyDtoDAsync_v2)                    \
  X(required, create_stream, cuStreamCreate)                 \
  X(required, destroy_stream, cuStreamDestroy_v2)            \
  X(required, finish_stream, cuStreamSynchronize)            \
  X(optional, stream_context, cuStreamGetCtx)                \
  X(optional, stream_captured, cuStreamIsCapturing)          \
  X(required, create_event, cuEventCreate)                   \
  X(required, destroy_event, cuEventDestroy_v2)              \
  X(required, record_event, cuEventRecord)                   \
  X(required, query_event, cuEventQuery)                     \
  X(required, wait_for_event, cuEventSynchronize)            \
  X(required, milliseconds, cuEventElapsedTime)              \
  X(required, load_module, cuModuleLoadData)                 \
  X(required, unload_module, cuModuleUnload)                 \
  X(required, find_kernel, cuModuleGetFunction)              \
  X(optional, set_kernel_attribute, cuFuncSetAttribute)      \
  X(required, launch, cuLaunchKernel)                        \
  X(optional, error_name, cuGetErrorName)                    \
  X(optional, error_text, cuGetErrorString)

// Numbers that are the same in CUDA and HIP.
inline constexpr int success = 0;
inline constexpr int out_of_memory = 2;
inline constexpr int no_device = 100;
inline constexpr int invalid_device = 101;
inline constexpr int invalid_image = 200;
inline constexpr int no_binary_for_gpu = 209;
inline constexpr int ecc_uncorrectable = 214;
inline constexpr int not_ready = 600;
inline constexpr std::uintptr_t stream_per_thread = 2;
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

// ---- Run-time compilers

using RtcProgram = void*;

struct RtcApi {
  Call<int(int*, int*)> version;
  Call<int(int*)> target_count;
  Call<int(int*)> targets;
  Call<int(RtcProgram*, const char*, const char*, int, const char* const*, const char* const*)>
      create;
  Call<int(RtcProgram*)> destroy;
  Call<int(RtcProgram, int, const char* const*)> compile;
  Call<int(RtcProgram, std::size_t*)> log_bytes;
  Call<int(RtcProgram, char*)> log;
  Call<int(RtcProgram, std::size_t*)> code_bytes;
  Call<int(RtcProgram, char*)> code;
  Call<const char*(int)> error_name;
};

#define PARAES_NVRTC_CALLS(X)                          \
  X(required, version, nvrtcVersion)                   \
  X(optional, target_count, nvrtcGetNumSupportedArchs) \
  X(optional, targets, nvrtcGetSupportedArchs)         \
  X(required, create, nvrtcCreateProgram)              \
  X(required, destroy, nvrtcDestroyProgram)            \
  X(required, compile, nvrtcCompileProgram)            \
  X(required, log_bytes, nvrtcGetProgramLogSize)       \
  X(required, log, nvrtcGetProgramLog)                 \
  X(required, code_bytes, nvrtcGetCUBINSize)           \
  X(required, code, nvrtcGetCUBIN)                     \
  X(optional, error_name, nvrtcGetErrorString)

// NVRTC and hipRTC.
inline constexpr int rtc_success = 0;
inline constexpr int rtc_invalid_option = 5;

// As open_nvrtc(), but for a driver of this version (12040 for CUDA 12.4): tries the newest NVRTC
// that is not newer than the driver first, then older ones, then newer ones from the oldest on.
[[nodiscard]] std::unique_ptr<Compiler> open_nvrtc_for(int driver_version);

}  // namespace paraes::gpu::driver
