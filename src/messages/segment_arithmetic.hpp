// Where segments lie in a message and in its plaintext: the arithmetic of SegmentLayout, of ranges
// of a message and of shares, in bytes. It has neither exceptions nor containers, so that the tests
// in tests/proofs can prove it.
//
// Results are exact for sizes of up to 2^63 - 1 bytes; segment_bytes and first_bytes are at
// least 1.
#pragma once

#include <cstdint>

namespace paraes {
namespace detail {

constexpr std::uint64_t tag_bytes = 16;  // behind each sealed segment

// As in SegmentLayout.
struct SegmentSizes {
  std::uint64_t header_bytes;
  std::uint64_t first_bytes;
  std::uint64_t segment_bytes;
  std::uint64_t max_segments;
  bool shorter_last;  // the last segment is shorter than a full one
};

inline std::uint64_t plain_offset(const SegmentSizes& sizes, std::uint64_t index) noexcept {
  return index == 0 ? 0 : sizes.first_bytes + (index - 1) * sizes.segment_bytes;
}

inline std::uint64_t sealed_offset(const SegmentSizes& sizes, std::uint64_t index) noexcept {
  return sizes.header_bytes + plain_offset(sizes, index) + index * tag_bytes;
}

// The segment that holds the byte `offset` of the plaintext.
inline std::uint64_t segment_at(const SegmentSizes& sizes, std::uint64_t offset) noexcept {
  return offset < sizes.first_bytes ? 0 : 1 + (offset - sizes.first_bytes) / sizes.segment_bytes;
}

// Number of segments for a plaintext of `bytes` bytes. It may be more than max_segments.
inline std::uint64_t segment_count(const SegmentSizes& sizes, std::uint64_t bytes) noexcept {
  // The last segment holds the position after the last byte or, if it may be full, the last byte.
  const bool full_last = !sizes.shorter_last && bytes != 0;
  return segment_at(sizes, full_last ? bytes - 1 : bytes) + 1;
}

// Why no message has a size.
enum class SizeFault {
  none,
  in_header,      // it ends within the header
  no_segment,     // it leaves no room for a segment
  in_tag,         // it ends within the tag of a segment
  after_full,     // it ends with a full segment, which another one must follow
  many_segments,  // it has more than max_segments
};

// As SegmentLayout::Extent.
struct Contents {
  std::uint64_t segments;
  std::uint64_t plain_bytes;
  bool empty_last;
};

// Computes the contents of a sealed message from its size, which includes the header.
inline SizeFault contents_of(const SegmentSizes& sizes, std::uint64_t sealed_size,
                             Contents& contents) noexcept {
  contents.segments = 0;
  contents.plain_bytes = 0;
  contents.empty_last = false;
  if (sealed_size < sizes.header_bytes) return SizeFault::in_header;
  const std::uint64_t body = sealed_size - sizes.header_bytes;
  if (body < tag_bytes) return SizeFault::no_segment;
  const std::uint64_t first = sizes.first_bytes + tag_bytes;
  contents.segments = 1;
  if (body > first) {
    const std::uint64_t sealed = sizes.segment_bytes + tag_bytes;
    const std::uint64_t full = (body - first) / sealed;
    const std::uint64_t rest = body - first - full * sealed;
    if (rest != 0 && rest < tag_bytes) return SizeFault::in_tag;
    contents.segments += full + (rest != 0 ? 1 : 0);
    contents.empty_last = rest == tag_bytes;
    if (rest == 0 && sizes.shorter_last) return SizeFault::after_full;
  } else if (body == first && sizes.shorter_last) {
    return SizeFault::after_full;
  }
  if (contents.segments > sizes.max_segments) return SizeFault::many_segments;
  contents.plain_bytes = body - contents.segments * tag_bytes;
  return SizeFault::none;
}

// The segments that are left of a message that was cut at sealed_size, at least header_bytes: those
// that have more than a part of a tag. sealed_size becomes the end of the last one.
inline Contents contents_of_truncated(const SegmentSizes& sizes,
                                      std::uint64_t& sealed_size) noexcept {
  const std::uint64_t body = sealed_size - sizes.header_bytes;
  const std::uint64_t first = sizes.first_bytes + tag_bytes;
  const std::uint64_t later = sizes.segment_bytes + tag_bytes;
  Contents contents = {0, 0, false};
  std::uint64_t rest = body;
  if (body >= first) {
    const std::uint64_t full = (body - first) / later;
    contents.segments = 1 + full;
    rest = body - first - full * later;
  }
  if (rest >= tag_bytes) {
    ++contents.segments;
  } else {
    sealed_size -= rest;
  }
  if (contents.segments > sizes.max_segments) {
    contents.segments = sizes.max_segments;
    sealed_size = sealed_offset(sizes, contents.segments);
  }
  contents.plain_bytes = sealed_size - sizes.header_bytes - contents.segments * tag_bytes;
  return contents;
}

// Whether `length` bytes from `offset` on are among `bytes` bytes. For all values.
inline bool is_within(std::uint64_t offset, std::uint64_t length, std::uint64_t bytes) noexcept {
  return offset <= bytes && length <= bytes - offset;
}

struct SegmentInterval {
  std::uint64_t first;
  std::uint64_t end;
};

// The segments to open for bytes [begin, end) of a plaintext. If the range ends with the message,
// an empty last segment is among them: it proves that the message is not truncated.
inline SegmentInterval segments_of_range(const SegmentSizes& sizes, const Contents& contents,
                                         std::uint64_t begin, std::uint64_t end) noexcept {
  SegmentInterval interval = {0, 0};
  if (contents.segments == 0) return interval;
  const std::uint64_t at = segment_at(sizes, begin);
  interval.first = at < contents.segments ? at : contents.segments - 1;
  if (end == contents.plain_bytes) {
    interval.end = contents.segments;
  } else {
    interval.end = end == begin ? interval.first : segment_at(sizes, end - 1) + 1;
  }
  return interval;
}

// Where a segment lies in texts that begin with segment `first`, and its plaintext.
struct SegmentPlace {
  std::uint64_t plain;
  std::uint64_t sealed;
  std::uint64_t bytes;
};

// plain_bytes: of all segments in the text, of which only the last one, which may be shorter, ends
// where the text does.
inline SegmentPlace place_of(const SegmentSizes& sizes, std::uint64_t first, std::uint64_t index,
                             bool is_last, std::uint64_t plain_bytes) noexcept {
  const std::uint64_t begin = plain_offset(sizes, index);
  SegmentPlace place;
  place.plain = begin - plain_offset(sizes, first);
  place.sealed = place.plain + (index - first) * tag_bytes;
  place.bytes = is_last ? plain_bytes - place.plain : plain_offset(sizes, index + 1) - begin;
  return place;
}

// Where share number `index` of `shares` begins among `count` chunks: count * index / shares, which
// does not overflow here. index ≤ shares, which is not 0.
inline std::uint64_t share_begin(std::uint64_t count, std::uint32_t index,
                                 std::uint32_t shares) noexcept {
  return count / shares * index + count % shares * index / shares;
}

}  // namespace detail
}  // namespace paraes
