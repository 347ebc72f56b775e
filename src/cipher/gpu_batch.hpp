// Segments of many messages, each with a key of its own, in few launches.
#pragma once

#include <span>

#include "src/cipher/cipher.hpp"

namespace paraes::detail {

// Does the segments whose ciphers have keys on GPUs, and which are not too long to share a launch;
// sets Segment::done of each. Leaves the others, also where the device lacks memory for many keys
// or where the CPU takes over. Throws what else the devices throw.
void crypt_on_gpus(Direction direction, std::span<CipherSegment> segments);

}  // namespace paraes::detail
