// Compares the declarations in cuda_api.hpp with AMD's headers, mostly when it is compiled. The
// headers need __HIP_PLATFORM_AMD__.

#include <gtest/gtest.h>
#include <hip/hip_runtime_api.h>
#include <hip/hip_version.h>
#include <hip/hiprtc.h>

#include <cstddef>
#include <type_traits>

#include "src/gpu/runtime/cuda_api.hpp"
#include "tests/gpu/declarations.hpp"

// ROCm 5 has only hipGetDeviceProperties. From ROCm 6 on, the header maps this name to
// hipGetDevicePropertiesR0600.
#if HIP_VERSION_MAJOR < 6
#define hipGetDevicePropertiesR0600 hipGetDeviceProperties
#endif

namespace paraes::gpu {

// hipMalloc and hipHostMalloc also have template overloads. These functions have the types of the
// others.
namespace plain {
template <class F>
using Function = std::remove_pointer_t<F>;
Function<decltype(static_cast<hipError_t (*)(void**, std::size_t)>(&::hipMalloc))> hip_malloc;
Function<decltype(static_cast<hipError_t (*)(void**, std::size_t, unsigned)>(&::hipHostMalloc))>
    hip_host_malloc;
}  // namespace plain
#define hipMalloc plain::hip_malloc
#define hipHostMalloc plain::hip_host_malloc

namespace {

#define PARAES_COMPARE(need, member, symbol)                                                \
  static_assert(                                                                            \
      declarations::Matches<decltype(driver::DriverApi::member), decltype(&symbol)>::value, \
      #symbol);
PARAES_HIP_CALLS(PARAES_COMPARE)
#undef PARAES_COMPARE

#define PARAES_COMPARE(need, member, symbol)                                                       \
  static_assert(declarations::Matches<decltype(driver::RtcApi::member), decltype(&symbol)>::value, \
                #symbol);
PARAES_HIPRTC_CALLS(PARAES_COMPARE)
#undef PARAES_COMPARE

static_assert(driver::success == hipSuccess);
static_assert(driver::out_of_memory == hipErrorOutOfMemory);
static_assert(driver::no_device == hipErrorNoDevice);
static_assert(driver::invalid_device == hipErrorInvalidDevice);
static_assert(driver::invalid_image == hipErrorInvalidImage);
static_assert(driver::no_binary_for_gpu == hipErrorNoBinaryForGpu);
static_assert(driver::ecc_uncorrectable == hipErrorECCNotCorrectable);
static_assert(driver::not_ready == hipErrorNotReady);
static_assert(driver::not_captured == hipStreamCaptureStatusNone);
static_assert(driver::invalid_ptx == hipErrorInvalidKernelFile);
static_assert(driver::illegal_address == hipErrorIllegalAddress);
static_assert(driver::launch_timeout == hipErrorLaunchTimeOut);
static_assert(driver::context_is_destroyed == hipErrorContextIsDestroyed);
static_assert(driver::assert_failed == hipErrorAssert);
static_assert(driver::launch_failed == hipErrorLaunchFailure);
static_assert(driver::unknown_error == hipErrorUnknown);
static_assert(driver::stream_non_blocking == hipStreamNonBlocking);
static_assert(driver::event_default == hipEventDefault);
static_assert(driver::host_portable == hipHostMallocPortable);
static_assert(driver::host_mapped == hipHostMallocMapped);
static_assert(driver::pointer_memory_type == HIP_POINTER_ATTRIBUTE_MEMORY_TYPE);
static_assert(driver::pointer_is_managed == HIP_POINTER_ATTRIBUTE_IS_MANAGED);
static_assert(driver::pointer_device == HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
static_assert(driver::pointer_range_start == HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR);
static_assert(driver::pointer_range_bytes == HIP_POINTER_ATTRIBUTE_RANGE_SIZE);
static_assert((HIP_VERSION_MAJOR < 6 ? driver::memory_type_host_of_hip_5
                                     : driver::memory_type_host) == hipMemoryTypeHost);
static_assert(driver::hip_version_6 == 6 * 10000000);
static_assert(driver::hip_attributes.max_threads == hipDeviceAttributeMaxThreadsPerBlock);
static_assert(driver::hip_attributes.processors == hipDeviceAttributeMultiprocessorCount);
static_assert(driver::hip_attributes.shared_bytes == hipDeviceAttributeMaxSharedMemoryPerBlock);
static_assert(driver::hip_attributes.shared_bytes_opt_in ==
              hipDeviceAttributeSharedMemPerBlockOptin);
static_assert(driver::hip_attributes.maps_host_memory == hipDeviceAttributeCanMapHostMemory);
static_assert(sizeof(hipDeviceProp_t) < driver::most_property_bytes);
static_assert(offsetof(hipDeviceProp_t, name) == 0);
static_assert(sizeof hipDeviceProp_t{}.name == driver::property_name_bytes);
static_assert(offsetof(hipDeviceProp_t, gcnArchName) >= driver::property_name_bytes);
static_assert(driver::least_hip_version == 5 * 10000000);
static_assert(HIP_VERSION ==
              HIP_VERSION_MAJOR * 10000000 + HIP_VERSION_MINOR * 100000 + HIP_VERSION_PATCH);
static_assert(driver::rtc_success == HIPRTC_SUCCESS);
static_assert(driver::rtc_invalid_option == HIPRTC_ERROR_INVALID_OPTION);

TEST(HipDeclarations, HeaderIsOfASupportedVersion) {
  EXPECT_GE(HIP_VERSION, driver::least_hip_version)
      << "the header is older than the oldest supported version";
}

}  // namespace
}  // namespace paraes::gpu
