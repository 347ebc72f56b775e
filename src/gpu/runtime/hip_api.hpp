// The numbers of HIP that differ from CUDA's. tests/gpu/declarations_hip.cpp compares them with
// AMD's headers.
#pragma once

#include "src/gpu/runtime/cuda_api.hpp"

namespace paraes::gpu::driver {

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

}  // namespace paraes::gpu::driver
