// ECB, CBC, CTR and XTS on GPUs. Work goes in launches, several at once: each is copied to a
// stream's buffers, worked on and copied back. The CPU does the ends that have no whole block, and
// CBC encryption, which is serial.
#pragma once

#include <memory>

#include "src/cipher/cipher.hpp"
#include "src/cipher/gpu_key.hpp"
#include "src/core/executor.hpp"
#include "src/modes/cipher_key.hpp"
#include "src/modes/xts.hpp"

namespace paraes::detail {

// `key` is the same key for the CPU's part.
[[nodiscard]] std::shared_ptr<const BlockCipher> make_gpu_block(
    std::shared_ptr<gpu::DevicePool> pool, std::unique_ptr<const CipherKey> key,
    const Executor& executor, const GpuUse& use);
[[nodiscard]] std::shared_ptr<const XtsCipher> make_gpu_xts(std::shared_ptr<gpu::DevicePool> pool,
                                                            std::unique_ptr<const XtsKey> key,
                                                            const Executor& executor,
                                                            const GpuUse& use);

}  // namespace paraes::detail
