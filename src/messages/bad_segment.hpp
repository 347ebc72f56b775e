// What is said of a segment that does not authenticate.
#pragma once

#include <cstdint>
#include <string>

#include "paraes/segments.hpp"

namespace paraes {

// `commits`: see Message::commits.
[[nodiscard]] inline std::string explain_segment(const SegmentLayout& layout, bool commits,
                                                 std::uint64_t segment) {
  if (segment == 0 && !commits) {
    return "the first segment does not authenticate: wrong key, wrong associated data, or damaged";
  }
  return "segment " + std::to_string(segment) +
         " does not authenticate: the data is damaged or truncated at byte " +
         std::to_string(layout.plain_offset(segment)) +
         " of the plaintext (--salvage saves what is intact)";
}

}  // namespace paraes
