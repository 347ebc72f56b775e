// The error of a segment that does not authenticate.
#pragma once

#include <cstdint>
#include <string>

#include "paraes/error.hpp"
#include "paraes/segments.hpp"

namespace paraes {

// `commits`: see Message::commits.
[[nodiscard]] inline BadSegment bad_segment(const SegmentLayout& layout, bool commits,
                                            std::uint64_t segment) {
  const std::uint64_t offset = layout.plain_offset(segment);
  if (segment == 0 && !commits) {
    return {"the first segment does not authenticate: wrong key, wrong associated data, or damaged",
            segment, offset, false};
  }
  return {"segment " + std::to_string(segment) +
              " does not authenticate: the data is damaged or truncated at byte " +
              std::to_string(offset) + " of the plaintext",
          segment, offset, true};
}

}  // namespace paraes
