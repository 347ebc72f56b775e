// The parts of OpenCL 1.2 that paraes uses, declared by hand so that a build needs no headers.
// Numbers and types are those of the OpenCL specification.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "src/core/dynamic_library.hpp"

namespace paraes::gpu::cl {

using Platform = struct _cl_platform_id*;
using DeviceId = struct _cl_device_id*;
using Context = struct _cl_context*;
using CommandQueue = struct _cl_command_queue*;
using Mem = struct _cl_mem*;
using ProgramId = struct _cl_program*;
using Kernel = struct _cl_kernel*;
using Event = struct _cl_event*;
using Int = std::int32_t;
using Uint = std::uint32_t;
using Ulong = std::uint64_t;
using Bitfield = std::uint64_t;
using Property = std::intptr_t;

inline constexpr Int success = 0;
inline constexpr Int device_not_found = -1;
inline constexpr Int mem_object_allocation_failure = -4;
inline constexpr Int out_of_resources = -5;
inline constexpr Int out_of_host_memory = -6;
inline constexpr Int profiling_info_not_available = -7;
inline constexpr Int invalid_buffer_size = -61;
inline constexpr Int platform_not_found_khr = -1001;

inline constexpr Uint platform_name = 0x0902;

inline constexpr Bitfield device_type_cpu = 1 << 1;
inline constexpr Bitfield device_type_all = 0xFFFFFFFF;
inline constexpr Uint device_type = 0x1000;
inline constexpr Uint device_max_compute_units = 0x1002;
inline constexpr Uint device_max_work_group_size = 0x1004;
inline constexpr Uint device_max_work_item_sizes = 0x1005;
inline constexpr Uint device_max_mem_alloc_size = 0x1010;
inline constexpr Uint device_global_mem_size = 0x101F;
inline constexpr Uint device_local_mem_size = 0x1023;
inline constexpr Uint device_endian_little = 0x1026;
inline constexpr Uint device_available = 0x1027;
inline constexpr Uint device_compiler_available = 0x1028;
inline constexpr Uint device_name = 0x102B;
inline constexpr Uint device_platform = 0x1031;
inline constexpr Uint driver_version = 0x102D;
inline constexpr Uint device_version = 0x102F;
inline constexpr Uint device_extensions = 0x1030;

// cl_khr_pci_bus_info: four numbers.
inline constexpr Uint device_pci_bus_info = 0x410F;
// cl_nv_device_attribute_query. A slot is 8 × device + function.
inline constexpr Uint device_pci_bus_id_nv = 0x4008;
inline constexpr Uint device_pci_slot_id_nv = 0x4009;
inline constexpr Uint device_pci_domain_id_nv = 0x400A;
// cl_amd_device_attribute_query.
inline constexpr Uint device_topology_amd = 0x4037;
inline constexpr Uint topology_type_pcie_amd = 1;

struct PciBusInfo {
  Uint domain;
  Uint bus;
  Uint device;
  Uint function;
};

struct TopologyAmd {
  Uint type;
  std::array<std::uint8_t, 17> unused;
  std::uint8_t bus;
  std::uint8_t device;
  std::uint8_t function;
};
static_assert(sizeof(TopologyAmd) == 24);

inline constexpr Bitfield queue_out_of_order = 1 << 0;
inline constexpr Bitfield queue_profiling_enable = 1 << 1;
inline constexpr Uint queue_context = 0x1090;
inline constexpr Uint queue_device = 0x1091;
inline constexpr Uint queue_properties = 0x1093;
inline constexpr Bitfield mem_read_write = 1 << 0;
inline constexpr Bitfield mem_alloc_host_ptr = 1 << 4;
inline constexpr Bitfield map_read = 1 << 0;
inline constexpr Bitfield map_write = 1 << 1;
inline constexpr Uint program_binary_sizes = 0x1165;
inline constexpr Uint program_binaries = 0x1166;
inline constexpr Uint program_build_log = 0x1183;
inline constexpr Uint kernel_num_args = 0x1191;
inline constexpr Uint event_command_execution_status = 0x11D3;
inline constexpr Int complete = 0;
inline constexpr Uint kernel_work_group_size = 0x11B0;
inline constexpr Uint profiling_command_end = 0x1283;

using Notify = void (*)(const char*, const void*, std::size_t, void*);
using BuildNotify = void (*)(ProgramId, void*);

// X(function, result, parameters…): every entry point, under its own name.
#define PARAES_CL_FUNCTIONS(X)                                                                     \
  X(clGetPlatformIDs, Int, Uint, Platform*, Uint*)                                                 \
  X(clGetPlatformInfo, Int, Platform, Uint, std::size_t, void*, std::size_t*)                      \
  X(clGetDeviceIDs, Int, Platform, Bitfield, Uint, DeviceId*, Uint*)                               \
  X(clGetDeviceInfo, Int, DeviceId, Uint, std::size_t, void*, std::size_t*)                        \
  X(clCreateContext, Context, const Property*, Uint, const DeviceId*, Notify, void*, Int*)         \
  X(clRetainContext, Int, Context)                                                                 \
  X(clReleaseContext, Int, Context)                                                                \
  X(clCreateCommandQueue, CommandQueue, Context, DeviceId, Bitfield, Int*)                         \
  X(clRetainCommandQueue, Int, CommandQueue)                                                       \
  X(clReleaseCommandQueue, Int, CommandQueue)                                                      \
  X(clGetCommandQueueInfo, Int, CommandQueue, Uint, std::size_t, void*, std::size_t*)              \
  X(clCreateBuffer, Mem, Context, Bitfield, std::size_t, void*, Int*)                              \
  X(clReleaseMemObject, Int, Mem)                                                                  \
  X(clEnqueueWriteBuffer, Int, CommandQueue, Mem, Uint, std::size_t, std::size_t, const void*,     \
    Uint, const Event*, Event*)                                                                    \
  X(clEnqueueReadBuffer, Int, CommandQueue, Mem, Uint, std::size_t, std::size_t, void*, Uint,      \
    const Event*, Event*)                                                                          \
  X(clEnqueueFillBuffer, Int, CommandQueue, Mem, const void*, std::size_t, std::size_t,            \
    std::size_t, Uint, const Event*, Event*)                                                       \
  X(clEnqueueCopyBuffer, Int, CommandQueue, Mem, Mem, std::size_t, std::size_t, std::size_t, Uint, \
    const Event*, Event*)                                                                          \
  X(clEnqueueMapBuffer, void*, CommandQueue, Mem, Uint, Bitfield, std::size_t, std::size_t, Uint,  \
    const Event*, Event*, Int*)                                                                    \
  X(clEnqueueUnmapMemObject, Int, CommandQueue, Mem, void*, Uint, const Event*, Event*)            \
  X(clCreateProgramWithSource, ProgramId, Context, Uint, const char**, const std::size_t*, Int*)   \
  X(clCreateProgramWithBinary, ProgramId, Context, Uint, const DeviceId*, const std::size_t*,      \
    const unsigned char**, Int*, Int*)                                                             \
  X(clReleaseProgram, Int, ProgramId)                                                              \
  X(clBuildProgram, Int, ProgramId, Uint, const DeviceId*, const char*, BuildNotify, void*)        \
  X(clGetProgramInfo, Int, ProgramId, Uint, std::size_t, void*, std::size_t*)                      \
  X(clGetProgramBuildInfo, Int, ProgramId, DeviceId, Uint, std::size_t, void*, std::size_t*)       \
  X(clCreateKernel, Kernel, ProgramId, const char*, Int*)                                          \
  X(clReleaseKernel, Int, Kernel)                                                                  \
  X(clGetKernelInfo, Int, Kernel, Uint, std::size_t, void*, std::size_t*)                          \
  X(clGetKernelWorkGroupInfo, Int, Kernel, DeviceId, Uint, std::size_t, void*, std::size_t*)       \
  X(clSetKernelArg, Int, Kernel, Uint, std::size_t, const void*)                                   \
  X(clEnqueueNDRangeKernel, Int, CommandQueue, Kernel, Uint, const std::size_t*,                   \
    const std::size_t*, const std::size_t*, Uint, const Event*, Event*)                            \
  X(clEnqueueMarkerWithWaitList, Int, CommandQueue, Uint, const Event*, Event*)                    \
  X(clGetEventProfilingInfo, Int, Event, Uint, std::size_t, void*, std::size_t*)                   \
  X(clWaitForEvents, Int, Uint, const Event*)                                                      \
  X(clGetEventInfo, Int, Event, Uint, std::size_t, void*, std::size_t*)                            \
  X(clReleaseEvent, Int, Event)                                                                    \
  X(clFlush, Int, CommandQueue)                                                                    \
  X(clFinish, Int, CommandQueue)

struct ClApi {
#define PARAES_CL_MEMBER(name, result, ...) Call<result(__VA_ARGS__)> name;
  PARAES_CL_FUNCTIONS(PARAES_CL_MEMBER)
#undef PARAES_CL_MEMBER

  explicit ClApi(const DynamicLibrary& library) {
#define PARAES_CL_LOAD(name, result, ...) library.load(DynamicLibrary::Need::required, #name, name);
    PARAES_CL_FUNCTIONS(PARAES_CL_LOAD)
#undef PARAES_CL_LOAD
  }
};

}  // namespace paraes::gpu::cl
