// Compares the declarations in opencl_api.hpp with the headers of Khronos, mostly when it is
// compiled.

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <type_traits>

#include "src/gpu/runtime/opencl_api.hpp"
#include "tests/gpu/declarations.hpp"

namespace paraes::gpu {
namespace {

// All handles are pointers to incomplete classes, which are not told apart. A callback is only
// compared with another callback.
template <class Ours, class Theirs>
constexpr bool passes_as() {
  using O = std::remove_cv_t<std::remove_pointer_t<Ours>>;
  using T = std::remove_cv_t<std::remove_pointer_t<Theirs>>;
  if constexpr (std::is_function_v<O> || std::is_function_v<T>) {
    return std::is_function_v<O> && std::is_function_v<T>;
  } else if constexpr (std::is_class_v<O> || std::is_class_v<T>) {
    return std::is_class_v<O> && std::is_class_v<T>;  // incomplete
  } else if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>) {
    return std::is_const_v<std::remove_pointer_t<Ours>> ==
               std::is_const_v<std::remove_pointer_t<Theirs>> &&
           passes_as<O, T>();
  } else {
    return declarations::passes_as<Ours, Theirs>();
  }
}

template <class Ours, class Theirs>
struct Matches : std::false_type {};

template <class R, class... P, class S, class... Q>
requires(sizeof...(P) == sizeof...(Q)) struct Matches<R (*)(P...), S (*)(Q...)>
    : std::bool_constant<passes_as<R, S>() && (passes_as<P, Q>() && ...)> {
};

static_assert(Matches<cl::Int (*)(cl::Mem), cl_int (*)(cl_mem)>::value);
static_assert(!Matches<cl::Int (*)(cl::Bitfield), cl_int (*)(cl_uint)>::value);
static_assert(!Matches<cl::Int (*)(void*), cl_int (*)(const void*)>::value);
static_assert(!Matches<cl::Int (*)(cl::Uint*), cl_int (*)(size_t*)>::value);
static_assert(!Matches<cl::Int (*)(cl::Mem), cl_int (*)(cl_mem, cl_mem)>::value);

#define PARAES_COMPARE(name, result, ...) \
  static_assert(Matches<decltype(cl::ClApi::name.function), decltype(&::name)>::value, #name);
PARAES_CL_FUNCTIONS(PARAES_COMPARE)
#undef PARAES_COMPARE

static_assert(cl::success == CL_SUCCESS);
static_assert(cl::device_not_found == CL_DEVICE_NOT_FOUND);
static_assert(cl::mem_object_allocation_failure == CL_MEM_OBJECT_ALLOCATION_FAILURE);
static_assert(cl::out_of_resources == CL_OUT_OF_RESOURCES);
static_assert(cl::out_of_host_memory == CL_OUT_OF_HOST_MEMORY);
static_assert(cl::profiling_info_not_available == CL_PROFILING_INFO_NOT_AVAILABLE);
static_assert(cl::invalid_buffer_size == CL_INVALID_BUFFER_SIZE);
static_assert(cl::platform_not_found_khr == CL_PLATFORM_NOT_FOUND_KHR);
static_assert(cl::platform_name == CL_PLATFORM_NAME);
static_assert(cl::device_type_cpu == CL_DEVICE_TYPE_CPU);
static_assert(cl::device_type_all == CL_DEVICE_TYPE_ALL);
static_assert(cl::device_type == CL_DEVICE_TYPE);
static_assert(cl::device_max_compute_units == CL_DEVICE_MAX_COMPUTE_UNITS);
static_assert(cl::device_max_work_group_size == CL_DEVICE_MAX_WORK_GROUP_SIZE);
static_assert(cl::device_max_work_item_sizes == CL_DEVICE_MAX_WORK_ITEM_SIZES);
static_assert(cl::device_max_mem_alloc_size == CL_DEVICE_MAX_MEM_ALLOC_SIZE);
static_assert(cl::device_global_mem_size == CL_DEVICE_GLOBAL_MEM_SIZE);
static_assert(cl::device_local_mem_size == CL_DEVICE_LOCAL_MEM_SIZE);
static_assert(cl::device_endian_little == CL_DEVICE_ENDIAN_LITTLE);
static_assert(cl::device_available == CL_DEVICE_AVAILABLE);
static_assert(cl::device_compiler_available == CL_DEVICE_COMPILER_AVAILABLE);
static_assert(cl::device_name == CL_DEVICE_NAME);
static_assert(cl::driver_version == CL_DRIVER_VERSION);
static_assert(cl::device_version == CL_DEVICE_VERSION);
static_assert(cl::device_extensions == CL_DEVICE_EXTENSIONS);
static_assert(cl::queue_profiling_enable == CL_QUEUE_PROFILING_ENABLE);
static_assert(cl::mem_read_write == CL_MEM_READ_WRITE);
static_assert(cl::mem_alloc_host_ptr == CL_MEM_ALLOC_HOST_PTR);
static_assert(cl::map_read == CL_MAP_READ);
static_assert(cl::map_write == CL_MAP_WRITE);
static_assert(cl::program_binary_sizes == CL_PROGRAM_BINARY_SIZES);
static_assert(cl::program_binaries == CL_PROGRAM_BINARIES);
static_assert(cl::program_build_log == CL_PROGRAM_BUILD_LOG);
static_assert(cl::kernel_num_args == CL_KERNEL_NUM_ARGS);
static_assert(cl::kernel_work_group_size == CL_KERNEL_WORK_GROUP_SIZE);
static_assert(cl::profiling_command_end == CL_PROFILING_COMMAND_END);

// Older headers lack some extensions.
#ifdef CL_DEVICE_PCI_BUS_INFO_KHR
static_assert(cl::device_pci_bus_info == CL_DEVICE_PCI_BUS_INFO_KHR);
static_assert(sizeof(cl::PciBusInfo) == sizeof(cl_device_pci_bus_info_khr));
static_assert(offsetof(cl::PciBusInfo, domain) == offsetof(cl_device_pci_bus_info_khr, pci_domain));
static_assert(offsetof(cl::PciBusInfo, bus) == offsetof(cl_device_pci_bus_info_khr, pci_bus));
static_assert(offsetof(cl::PciBusInfo, device) == offsetof(cl_device_pci_bus_info_khr, pci_device));
static_assert(offsetof(cl::PciBusInfo, function) ==
              offsetof(cl_device_pci_bus_info_khr, pci_function));
#endif
#ifdef CL_DEVICE_TOPOLOGY_AMD
static_assert(cl::device_topology_amd == CL_DEVICE_TOPOLOGY_AMD);
#endif
#ifdef CL_DEVICE_PCI_BUS_ID_NV
static_assert(cl::device_pci_bus_id_nv == CL_DEVICE_PCI_BUS_ID_NV);
static_assert(cl::device_pci_slot_id_nv == CL_DEVICE_PCI_SLOT_ID_NV);
#endif
#ifdef CL_DEVICE_PCI_DOMAIN_ID_NV
static_assert(cl::device_pci_domain_id_nv == CL_DEVICE_PCI_DOMAIN_ID_NV);
#endif

TEST(OpenClDeclarations, HeaderIsOfASupportedVersion) {
#ifdef CL_VERSION_1_2
  const bool has_1_2 = true;
#else
  const bool has_1_2 = false;
#endif
  EXPECT_TRUE(has_1_2) << "the header is older than OpenCL 1.2";
}

}  // namespace
}  // namespace paraes::gpu
