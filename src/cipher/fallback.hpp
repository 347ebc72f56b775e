// GCM on GPUs, with the CPU for what they fail to do.
#pragma once

#include <memory>

#include "src/cipher/gpu_gcm.hpp"

namespace paraes::detail {

// Does with `cpu` whatever `gpu` leaves undone when it fails, and everything after that. Both have
// `key`.
[[nodiscard]] std::shared_ptr<const GcmCipher> with_fallback(std::unique_ptr<const GpuGcm> gpu,
                                                             std::shared_ptr<const GcmCipher> cpu,
                                                             std::shared_ptr<const GcmKey> key);

}  // namespace paraes::detail
