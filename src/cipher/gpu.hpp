// ECB, CBC, CTR and XTS on GPUs. The text is cut into launches, several of which run at once: each
// copies its range to the buffers of a stream, computes, and copies the result back. The CPU does
// CBC encryption, which is serial, CTR before the first whole block of the key stream, XTS where
// ciphertext stealing joins two blocks, and XTS units that are larger than a launch.
#pragma once

#include <memory>

#include "src/cipher/cipher.hpp"
#include "src/cipher/gpu_key.hpp"
#include "src/core/executor.hpp"
#include "src/modes/cipher_key.hpp"
#include "src/modes/xts.hpp"

namespace paraes::detail {

// `key` is the key for the work that the CPU does.
[[nodiscard]] std::shared_ptr<const BlockCipher> make_gpu_block(
    std::shared_ptr<gpu::DevicePool> pool, std::unique_ptr<const CipherKey> key,
    const Executor& executor, const GpuUse& use);
[[nodiscard]] std::shared_ptr<const XtsCipher> make_gpu_xts(std::shared_ptr<gpu::DevicePool> pool,
                                                            std::unique_ptr<const XtsKey> key,
                                                            const Executor& executor,
                                                            const GpuUse& use);

}  // namespace paraes::detail
