// Which segments are large enough to be spread over threads one by one.
#pragma once

#include <cstdint>

#include "paraes/ciphers.hpp"

namespace paraes {

// Up to this size, threads process whole segments, several at once. A larger segment is processed
// alone and spread over all threads, so that memory does not grow with their number.
inline constexpr std::uint64_t large_segment_bytes = std::uint64_t{4} << 20;

// The execution of a segment cipher.
inline Execution for_segments(const Execution& execution, std::uint64_t segment_bytes) {
  Execution own = execution;
  if (segment_bytes <= large_segment_bytes) own.threads = 1;
  return own;
}

}  // namespace paraes
