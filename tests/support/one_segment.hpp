// Seals and opens a single segment.
#pragma once

#include "paraes/segments.hpp"

namespace paraes::support {

inline void seal_segment(const SegmentCipher& cipher, std::uint64_t index, bool last, Bytes plain,
                         MutableBytes sealed) {
  SegmentCipher::Segment segment{.index = index, .last = last, .in = plain, .out = sealed};
  cipher.crypt(Direction::encrypt, {&segment, 1});
}

// Returns whether the tag matches.
[[nodiscard]] inline bool open_segment(const SegmentCipher& cipher, std::uint64_t index, bool last,
                                       Bytes sealed, MutableBytes plain) {
  SegmentCipher::Segment segment{.index = index, .last = last, .in = sealed, .out = plain};
  cipher.crypt(Direction::decrypt, {&segment, 1});
  return segment.intact;
}

}  // namespace paraes::support
