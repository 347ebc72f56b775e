// Ciphers on the CPU.
#pragma once

#include <memory>
#include <string>

#include "src/cipher/cipher.hpp"
#include "src/core/executor.hpp"
#include "src/modes/gcm.hpp"
#include "src/modes/xts.hpp"

namespace paraes::detail {

// Keys are as FIPS 197 and IEEE 1619 have them; XTS takes both halves. `fallback`: why the CPU
// works in place of a GPU, or empty.
[[nodiscard]] std::shared_ptr<const BlockCipher> make_cpu_block(const Kernel& kernel,
                                                                const Executor& executor, Bytes key,
                                                                std::string fallback);
[[nodiscard]] std::shared_ptr<const XtsCipher> make_cpu_xts(const Kernel& kernel,
                                                            const Executor& executor, Bytes key,
                                                            std::string fallback);
// Chooses, for all that the cipher will do, between one thread and several, and whether the
// kernel's library takes whole messages.
[[nodiscard]] std::shared_ptr<const GcmCipher> make_cpu_gcm(std::shared_ptr<const GcmKey> key,
                                                            const Executor& executor,
                                                            std::string fallback);

}  // namespace paraes::detail
