// Ciphers on the CPU.
#pragma once

#include <memory>
#include <string>

#include "src/cipher/cipher.hpp"
#include "src/core/executor.hpp"
#include "src/modes/gcm.hpp"
#include "src/modes/xts.hpp"

namespace paraes::detail {

// `fallback` says why the CPU has taken over from a GPU; it is empty if it has not.
[[nodiscard]] std::shared_ptr<const BlockCipher> make_cpu_block(
    std::unique_ptr<const CipherKey> key, const Executor& executor, std::string fallback);
[[nodiscard]] std::shared_ptr<const XtsCipher> make_cpu_xts(std::unique_ptr<const XtsKey> key,
                                                            const Executor& executor,
                                                            std::string fallback);
// When the tables for long messages are made: 7 KiB, which a short message does not need.
enum class Tables : bool { when_needed, now };
[[nodiscard]] std::shared_ptr<const GcmCipher> make_cpu_gcm(const Kernel& kernel, Bytes key,
                                                            const Executor& executor,
                                                            std::string fallback,
                                                            Tables tables = Tables::when_needed);

}  // namespace paraes::detail
