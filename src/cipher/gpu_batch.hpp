// Processes segments of many messages, each with its own key, in few launches.
#pragma once

#include <span>

#include "src/cipher/cipher.hpp"

namespace paraes::detail {

// Seals or opens the segments whose ciphers have keys on GPUs and which are short enough to share a
// launch, and sets Segment::done of each. Skips all others, also those for which the device lacks
// memory for many keys, and those that the CPU takes over after a failure. Throws any other error
// of the devices.
void crypt_on_gpus(Direction direction, std::span<CipherSegment> segments);

}  // namespace paraes::detail
