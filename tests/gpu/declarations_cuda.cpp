// Compares the declarations in cuda_api.hpp with NVIDIA's headers, mostly when it is compiled.

#include <cuda.h>
#include <gtest/gtest.h>
#include <nvrtc.h>

#include "src/gpu/runtime/cuda_api.hpp"
#include "tests/gpu/declarations.hpp"

namespace paraes::gpu {
namespace {

#define PARAES_COMPARE(need, member, symbol)                                                  \
  static_assert(                                                                              \
      declarations::Matches<decltype(driver::DriverApi::member), decltype(&::symbol)>::value, \
      #symbol);
PARAES_CUDA_CALLS(PARAES_COMPARE)
#undef PARAES_COMPARE

#define PARAES_COMPARE(need, member, symbol)                                               \
  static_assert(                                                                           \
      declarations::Matches<decltype(driver::RtcApi::member), decltype(&::symbol)>::value, \
      #symbol);
PARAES_NVRTC_CALLS(PARAES_COMPARE)
#undef PARAES_COMPARE

// The plain names in the header are macros for the versions that paraes loads. The exception is
// cuEventElapsedTime: since CUDA 12.8 it has had a second version, which older drivers lack.
#define PARAES_TEXT(symbol) #symbol
#define PARAES_EXPANDED(symbol) PARAES_TEXT(symbol)
TEST(CudaDeclarations, NameTheVersionsOfTheHeader) {
  EXPECT_STREQ(PARAES_EXPANDED(cuDeviceTotalMem), "cuDeviceTotalMem_v2");
  EXPECT_STREQ(PARAES_EXPANDED(cuDevicePrimaryCtxRelease), "cuDevicePrimaryCtxRelease_v2");
  EXPECT_STREQ(PARAES_EXPANDED(cuMemGetInfo), "cuMemGetInfo_v2");
  EXPECT_STREQ(PARAES_EXPANDED(cuMemAlloc), "cuMemAlloc_v2");
  EXPECT_STREQ(PARAES_EXPANDED(cuMemFree), "cuMemFree_v2");
  EXPECT_STREQ(PARAES_EXPANDED(cuMemHostGetDevicePointer), "cuMemHostGetDevicePointer_v2");
  EXPECT_STREQ(PARAES_EXPANDED(cuMemcpyHtoDAsync), "cuMemcpyHtoDAsync_v2");
  EXPECT_STREQ(PARAES_EXPANDED(cuMemcpyDtoHAsync), "cuMemcpyDtoHAsync_v2");
  EXPECT_STREQ(PARAES_EXPANDED(cuMemcpyDtoDAsync), "cuMemcpyDtoDAsync_v2");
  EXPECT_STREQ(PARAES_EXPANDED(cuStreamDestroy), "cuStreamDestroy_v2");
  EXPECT_STREQ(PARAES_EXPANDED(cuEventDestroy), "cuEventDestroy_v2");
  EXPECT_STREQ(PARAES_EXPANDED(cuMemHostAlloc), "cuMemHostAlloc");
  EXPECT_STREQ(PARAES_EXPANDED(cuLaunchKernel), "cuLaunchKernel");
}

static_assert(driver::success == CUDA_SUCCESS);
static_assert(driver::out_of_memory == CUDA_ERROR_OUT_OF_MEMORY);
static_assert(driver::stub_library == CUDA_ERROR_STUB_LIBRARY);
static_assert(driver::no_device == CUDA_ERROR_NO_DEVICE);
static_assert(driver::invalid_device == CUDA_ERROR_INVALID_DEVICE);
static_assert(driver::invalid_image == CUDA_ERROR_INVALID_IMAGE);
static_assert(driver::no_binary_for_gpu == CUDA_ERROR_NO_BINARY_FOR_GPU);
static_assert(driver::ecc_uncorrectable == CUDA_ERROR_ECC_UNCORRECTABLE);
static_assert(driver::not_ready == CUDA_ERROR_NOT_READY);
static_assert(driver::not_captured == CU_STREAM_CAPTURE_STATUS_NONE);
static_assert(driver::invalid_ptx == CUDA_ERROR_INVALID_PTX);
static_assert(driver::nvlink_uncorrectable == CUDA_ERROR_NVLINK_UNCORRECTABLE);
static_assert(driver::unsupported_ptx_version == CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
static_assert(driver::illegal_address == CUDA_ERROR_ILLEGAL_ADDRESS);
static_assert(driver::launch_timeout == CUDA_ERROR_LAUNCH_TIMEOUT);
static_assert(driver::context_is_destroyed == CUDA_ERROR_CONTEXT_IS_DESTROYED);
static_assert(driver::assert_failed == CUDA_ERROR_ASSERT);
static_assert(driver::hardware_stack_error == CUDA_ERROR_HARDWARE_STACK_ERROR);
static_assert(driver::illegal_instruction == CUDA_ERROR_ILLEGAL_INSTRUCTION);
static_assert(driver::misaligned_address == CUDA_ERROR_MISALIGNED_ADDRESS);
static_assert(driver::invalid_address_space == CUDA_ERROR_INVALID_ADDRESS_SPACE);
static_assert(driver::invalid_pc == CUDA_ERROR_INVALID_PC);
static_assert(driver::launch_failed == CUDA_ERROR_LAUNCH_FAILED);
static_assert(driver::unknown_error == CUDA_ERROR_UNKNOWN);
static_assert(driver::stream_non_blocking == CU_STREAM_NON_BLOCKING);
static_assert(driver::event_default == CU_EVENT_DEFAULT);
static_assert(driver::host_portable == CU_MEMHOSTALLOC_PORTABLE);
static_assert(driver::host_mapped == CU_MEMHOSTALLOC_DEVICEMAP);
static_assert(driver::pointer_context == CU_POINTER_ATTRIBUTE_CONTEXT);
static_assert(driver::pointer_memory_type == CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
static_assert(driver::pointer_is_managed == CU_POINTER_ATTRIBUTE_IS_MANAGED);
static_assert(driver::pointer_range_start == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR);
static_assert(driver::pointer_range_bytes == CU_POINTER_ATTRIBUTE_RANGE_SIZE);
static_assert(driver::memory_type_host == CU_MEMORYTYPE_HOST);
static_assert(driver::kernel_dynamic_shared_bytes ==
              CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
static_assert(driver::attribute_major == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
static_assert(driver::attribute_minor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
static_assert(driver::cuda_attributes.max_threads == CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
static_assert(driver::cuda_attributes.processors == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
static_assert(driver::cuda_attributes.shared_bytes ==
              CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
static_assert(driver::cuda_attributes.shared_bytes_opt_in ==
              CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
static_assert(driver::cuda_attributes.maps_host_memory == CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY);
static_assert(driver::rtc_success == NVRTC_SUCCESS);
static_assert(driver::rtc_invalid_option == NVRTC_ERROR_INVALID_OPTION);

}  // namespace
}  // namespace paraes::gpu
