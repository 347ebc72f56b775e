// GCM on GPUs; the CPU takes over when they fail.
#pragma once

#include <memory>

#include "src/cipher/gpu_gcm.hpp"

namespace paraes::detail {

// When `gpu` fails, `cpu` finishes the operation and does all later ones. Both use `key`.
[[nodiscard]] std::shared_ptr<const GcmCipher> with_fallback(std::unique_ptr<const GpuGcm> gpu,
                                                             std::shared_ptr<const GcmCipher> cpu,
                                                             std::shared_ptr<const GcmKey> key);

}  // namespace paraes::detail
