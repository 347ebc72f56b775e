// The error of a segment that does not authenticate.
#pragma once

#include <cstdint>
#include <string>

#include "paraes/error.hpp"
#include "paraes/segments.hpp"

namespace paraes {

// `key_fits`: see BadSegment::key_fits.
[[nodiscard]] inline BadSegment bad_segment(const SegmentLayout& layout, bool key_fits,
                                            std::uint64_t segment) {
  const std::uint64_t offset = layout.plain_offset(segment);
  if (segment == 0 && !key_fits) {
    return {"the first segment does not authenticate: wrong key, wrong associated data, or damaged",
            segment, offset, false};
  }
  return {"segment " + std::to_string(segment) + " does not authenticate: " +
              (key_fits ? "" : "wrong key, wrong associated data, or ") +
              "the data is damaged or truncated at byte " + std::to_string(offset) +
              " of the plaintext",
          segment, offset, key_fits};
}

}  // namespace paraes
