// The structures of device/job.h for the host.
#pragma once

#include <cstdint>
#include <cstring>

using paraes_u32 = std::uint32_t;
using paraes_u64 = std::uint64_t;

#include "src/gpu/device/job.h"

static_assert(sizeof(paraes_message) == 64 && sizeof(paraes_schedule) == 480 &&
                  sizeof(paraes_gcm_end) == 64,
              "as the kernels see them");

namespace paraes::gpu {

// A message with key 0 and no flags. `iv` points to 16 bytes, or is nullptr if the mode has none.
inline paraes_message make_message(std::uint64_t in, std::uint64_t out, std::uint64_t bytes,
                                   const std::uint8_t* iv) {
  paraes_message message{};
  message.in = in;
  message.out = out;
  message.bytes = bytes;
  if (iv != nullptr) std::memcpy(message.iv, iv, 16);
  return message;
}

}  // namespace paraes::gpu
