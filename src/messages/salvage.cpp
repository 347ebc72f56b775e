#include "src/messages/salvage.hpp"

#include <algorithm>

#include "paraes/error.hpp"
#include "src/messages/segments.hpp"

namespace paraes {

detail::Truncated detail::truncated_extent(const SegmentLayout& layout,
                                           std::uint64_t sealed_bytes) {
  const Contents contents = contents_of_truncated(sizes_of(layout), sealed_bytes);
  return {.extent = extent_of(contents), .sealed_bytes = sealed_bytes};
}

namespace {

// Whether `range` continues `before`. An empty one stands for a missing or damaged end, and stays.
bool continues(const BadRange& before, const BadRange& range) {
  return range.bytes != 0 && before.offset + before.bytes == range.offset;
}

// Sorts the ranges and joins adjacent ones.
void join(std::vector<BadRange>& bad) {
  std::ranges::sort(bad, {}, &BadRange::offset);
  std::size_t joined = 0;
  for (const BadRange& range : bad) {
    if (joined != 0 && continues(bad[joined - 1], range)) {
      bad[joined - 1].bytes += range.bytes;
    } else {
      bad[joined++] = range;
    }
  }
  bad.resize(joined);
}

}  // namespace

void detail::SalvageList::add(std::uint64_t plain_begin,
                              std::span<const SegmentCipher::Segment> segments) {
  const std::lock_guard lock(mutex_);
  std::uint64_t begin = plain_begin;
  for (const SegmentCipher::Segment& segment : segments) {
    const BadRange range{begin, segment.out.size()};
    if (segment.intact) {
      ++intact_;
    } else if (!bad_.empty() && continues(bad_.back(), range)) {
      bad_.back().bytes += range.bytes;
    } else {
      bad_.push_back(range);
    }
    begin += segment.out.size();
  }
  if (bad_.size() < join_at_) return;
  join(bad_);
  join_at_ = std::max(least_to_join, 2 * bad_.size());
}

void finish_salvage(const Message& message, const OpenResult& result, std::vector<BadRange>& bad) {
  if (result.intact == 0 && !message.commits()) {
    throw IntegrityError(
        "no segment authenticates: wrong key, wrong associated data, or damaged throughout");
  }
  join(bad);
}

}  // namespace paraes
