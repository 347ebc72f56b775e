// Creates the cipher for a key and an Execution: reads the device name, chooses the kernel and
// expands the key.
#pragma once

#include <memory>

#include "paraes/ciphers.hpp"
#include "src/cipher/cipher.hpp"

namespace paraes::detail {

// Throw InvalidArgument for a key of the wrong size, or XTS keys whose halves are equal.
void check_aes_key(Bytes key);
void check_xts_key(Bytes key);

// Throw what the two functions above throw, and InvalidArgument for an unknown device
// or kernel, or a wrong number of threads. Throw Unavailable or DeviceError if the device or the
// kernel cannot be used; with execution.fall_back, the CPU is used instead.
[[nodiscard]] std::shared_ptr<const BlockCipher> open_block_cipher(Bytes key,
                                                                   const Execution& execution);
[[nodiscard]] std::shared_ptr<const XtsCipher> open_xts_cipher(Bytes key,
                                                               const Execution& execution);
[[nodiscard]] std::shared_ptr<const GcmCipher> open_gcm_cipher(Bytes key,
                                                               const Execution& execution);
// The same for segments, which the CPU and GPUs may share ("cpu+cuda:0").
[[nodiscard]] std::shared_ptr<const GcmCipher> open_segment_cipher(Bytes key,
                                                                   const Execution& execution);

}  // namespace paraes::detail
