// Ciphers on the CPU.
#pragma once

#include <memory>
#include <string>

#include "src/cipher/cipher.hpp"
#include "src/core/executor.hpp"
#include "src/modes/gcm.hpp"

namespace paraes::detail {

// `key` is the AES key, for XTS both halves, the data key first. `fallback` says why the CPU has
// taken over from a GPU; it is empty if it has not.
[[nodiscard]] std::shared_ptr<const BlockCipher> make_cpu_block(const Kernel& kernel,
                                                                const Executor& executor, Bytes key,
                                                                std::string fallback);
[[nodiscard]] std::shared_ptr<const XtsCipher> make_cpu_xts(const Kernel& kernel,
                                                            const Executor& executor, Bytes key,
                                                            std::string fallback);
[[nodiscard]] std::shared_ptr<const GcmCipher> make_cpu_gcm(std::shared_ptr<const GcmKey> key,
                                                            const Executor& executor,
                                                            std::string fallback);

// Seals or opens the segments that are not done, each with its own cipher. The CPU's kernels
// process several short ones at once. Sets Segment::done of each segment that is finished, even if
// it throws later.
void crypt_on_cpu(Direction direction, std::span<CipherSegment> segments);

}  // namespace paraes::detail
