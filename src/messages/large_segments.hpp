// Which segments are worth spreading over threads by themselves.
#pragma once

#include <cstdint>

#include "paraes/ciphers.hpp"

namespace paraes {

// Up to this size segments are spread over threads whole, several at once; a larger one is handled
// alone, so that memory does not grow with the number of threads, and is spread itself.
inline constexpr std::uint64_t large_segment_bytes = std::uint64_t{4} << 20;

// The execution of a segment cipher.
inline Execution for_segments(const Execution& execution, std::uint64_t segment_bytes) {
  Execution own = execution;
  if (segment_bytes <= large_segment_bytes) own.threads = 1;
  return own;
}

}  // namespace paraes
