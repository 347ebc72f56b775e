// Consecutive segments of a message whose texts are in memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "paraes/segments.hpp"

namespace paraes {

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
};

}  // namespace paraes
