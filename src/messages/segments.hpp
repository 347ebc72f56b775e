// Segments of a message in memory, and the error of one that does not authenticate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "paraes/error.hpp"
#include "paraes/segments.hpp"

namespace paraes {

// Up to this size, threads process whole segments, several at once. A larger segment is processed
// alone and spread over all threads, so that memory does not grow with their number.
inline constexpr std::uint64_t large_segment_bytes = std::uint64_t{4} << 20;

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
    const std::uint64_t begin = layout.plain_offset(index);
    const auto plain = static_cast<std::size_t>(begin - layout.plain_offset(first));
    const std::size_t sealed =
        plain + static_cast<std::size_t>(index - first) * std::size_t{segment_tag_bytes};
    const std::size_t n = !is_last
                              ? static_cast<std::size_t>(layout.plain_offset(index + 1) - begin)
                          : seals ? in.size() - plain
                                  : in.size() - sealed - segment_tag_bytes;
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
