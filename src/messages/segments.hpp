// Segments of a message in memory, and the error of one that does not authenticate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "paraes/error.hpp"
#include "paraes/segments.hpp"
#include "src/messages/segment_arithmetic.hpp"

namespace paraes {

// Up to this size, threads process whole segments, several at once. A larger segment is processed
// alone and spread over all threads, so that memory does not grow with their number.
inline constexpr std::uint64_t large_segment_bytes = std::uint64_t{4} << 20;

static_assert(detail::tag_bytes == segment_tag_bytes);

// The layout for the functions of segment_arithmetic.hpp, and what they return.
[[nodiscard]] inline detail::SegmentSizes sizes_of(const SegmentLayout& layout) noexcept {
  return {.header_bytes = layout.header_bytes,
          .first_bytes = layout.first_bytes,
          .segment_bytes = layout.segment_bytes,
          .max_segments = layout.max_segments,
          .shorter_last = layout.last == SegmentLayout::Last::shorter};
}

namespace detail {

[[nodiscard]] inline SegmentLayout::Extent extent_of(const Contents& contents) noexcept {
  return {.segments = contents.segments,
          .plain_bytes = contents.plain_bytes,
          .empty_last = contents.empty_last};
}

[[nodiscard]] inline Contents contents_of(const SegmentLayout::Extent& extent) noexcept {
  return {.segments = extent.segments,
          .plain_bytes = extent.plain_bytes,
          .empty_last = extent.empty_last};
}

}  // namespace detail

// Consecutive segments whose texts are in memory.
struct SegmentRange {
  const SegmentLayout& layout;
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  bool ends = false;  // with the last segment of the message

  [[nodiscard]] std::uint64_t end() const noexcept { return first + count; }

  // Segment `index` in texts that begin with the first segment. Only the last one, which may be
  // shorter, ends where `in` does.
  [[nodiscard]] SegmentCipher::Segment at(std::uint64_t index, Direction direction, Bytes in,
                                          MutableBytes out) const {
    const bool seals = direction == Direction::encrypt;
    const bool is_last = index + 1 == end();
    const detail::SegmentPlace place =
        detail::place_of(sizes_of(layout), first, index, is_last,
                         seals ? in.size() : in.size() - count * segment_tag_bytes);
    const auto plain = static_cast<std::size_t>(place.plain);
    const auto sealed = static_cast<std::size_t>(place.sealed);
    const auto n = static_cast<std::size_t>(place.bytes);
    return {.index = index,
            .last = ends && is_last,
            .in = seals ? in.subspan(plain, n) : in.subspan(sealed, n + segment_tag_bytes),
            .out = seals ? out.subspan(sealed, n + segment_tag_bytes) : out.subspan(plain, n)};
  }

  // Replaces `to` by the segments in such texts.
  void list(Direction direction, Bytes in, MutableBytes out,
            std::vector<SegmentCipher::Segment>& to) const {
    to.clear();
    for (std::uint64_t index = first; index < end(); ++index) {
      to.push_back(at(index, direction, in, out));
    }
  }
};

// The segments of seal_segments() and open_segments(), for texts of these sizes. Throw as those do.
[[nodiscard]] SegmentRange range_to_seal(const SegmentLayout& layout, std::uint64_t first,
                                         bool ends, std::uint64_t plain_bytes,
                                         std::uint64_t sealed_bytes);
[[nodiscard]] SegmentRange range_to_open(const SegmentLayout& layout, std::uint64_t first,
                                         bool ends, std::uint64_t sealed_bytes,
                                         std::uint64_t plain_bytes);

// The first segment that does not authenticate; nullptr if there is none.
[[nodiscard]] inline const SegmentCipher::Segment* first_bad(
    const std::vector<SegmentCipher::Segment>& segments) {
  for (const SegmentCipher::Segment& segment : segments) {
    if (!segment.intact) return &segment;
  }
  return nullptr;
}

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
