// From a key and an Execution to a cipher: the one place that reads the name of a device, chooses a
// kernel and expands a key.
#pragma once

#include <memory>

#include "paraes/ciphers.hpp"
#include "src/cipher/cipher.hpp"

namespace paraes::detail {

// Throw InvalidArgument for a key of a wrong size (XTS: also for halves that are equal), for an
// unknown device or kernel and a wrong number of threads; Unavailable and DeviceError if the device
// or the kernel cannot be used, unless execution.fall_back has the CPU do it.
[[nodiscard]] std::shared_ptr<const BlockCipher> open_block_cipher(Bytes key,
                                                                   const Execution& execution);
[[nodiscard]] std::shared_ptr<const XtsCipher> open_xts_cipher(Bytes key,
                                                               const Execution& execution);
[[nodiscard]] std::shared_ptr<const GcmCipher> open_gcm_cipher(Bytes key,
                                                               const Execution& execution);

}  // namespace paraes::detail
