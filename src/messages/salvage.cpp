#include "src/messages/salvage.hpp"

#include <algorithm>
#include <utility>

#include "paraes/error.hpp"

namespace paraes {

detail::Truncated detail::truncated_extent(const SegmentLayout& layout,
                                           std::uint64_t sealed_bytes) {
  const std::uint64_t body = sealed_bytes - layout.header_bytes;
  const std::uint64_t first = layout.first_bytes + segment_tag_bytes;
  const std::uint64_t later = layout.segment_bytes + segment_tag_bytes;
  Truncated truncated{.extent = {}, .sealed_bytes = sealed_bytes};
  SegmentLayout::Extent& extent = truncated.extent;
  std::uint64_t rest = body;
  if (body >= first) {
    extent.segments = 1 + (body - first) / later;
    rest = (body - first) % later;
  }
  if (rest >= segment_tag_bytes) {
    ++extent.segments;
  } else {
    truncated.sealed_bytes -= rest;
  }
  if (extent.segments > layout.max_segments) {
    extent.segments = layout.max_segments;
    truncated.sealed_bytes = layout.sealed_offset(extent.segments);
  }
  extent.plain_bytes =
      truncated.sealed_bytes - layout.header_bytes - extent.segments * segment_tag_bytes;
  return truncated;
}

void detail::SalvageList::add(std::uint64_t plain_begin,
                              std::span<const SegmentCipher::Segment> segments) {
  const std::lock_guard lock(mutex_);
  std::uint64_t begin = plain_begin;
  for (const SegmentCipher::Segment& segment : segments) {
    if (segment.intact) {
      ++intact_;
    } else {
      bad_.push_back({begin, segment.out.size()});
    }
    begin += segment.out.size();
  }
}

void finish_salvage(const Message& message, const OpenResult& result, std::vector<BadRange>& bad) {
  if (result.intact == 0 && !message.commits()) {
    throw IntegrityError(
        "no segment authenticates: wrong key, wrong associated data, or damaged throughout");
  }
  std::sort(bad.begin(), bad.end(),
            [](const BadRange& a, const BadRange& b) { return a.offset < b.offset; });
  std::vector<BadRange> joined;
  for (const BadRange& range : bad) {
    if (!joined.empty() && range.bytes != 0 &&
        joined.back().offset + joined.back().bytes == range.offset) {
      joined.back().bytes += range.bytes;
    } else {
      joined.push_back(range);
    }
  }
  bad = std::move(joined);
}

}  // namespace paraes
