// device/job.h for the host.
#pragma once

#include <cstdint>

using paraes_u32 = std::uint32_t;
using paraes_u64 = std::uint64_t;

#include "gpu/device/job.h"

static_assert(sizeof(paraes_message) == 64 && sizeof(paraes_schedule) == 480,
              "as the kernels see them");
