// Opening a message of which segments are damaged, or the end is missing.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "paraes/messages.hpp"

namespace paraes::detail {

// A message that ends where none may: its whole segments, then perhaps a cut one that is longer
// than a tag.
struct Truncated {
  SegmentLayout::Extent extent;
  std::uint64_t sealed_bytes = 0;  // without the beginning of a segment that has no room for a tag
};
[[nodiscard]] Truncated truncated_extent(const SegmentLayout& layout, std::uint64_t sealed_bytes);

// Counts the intact segments of a message, and lists the others. Any thread may add.
class SalvageList {
 public:
  explicit SalvageList(std::vector<BadRange>& bad) : bad_(bad) {}

  // Segments that follow each other from the offset `plain_begin` of the plaintext on.
  void add(std::uint64_t plain_begin, std::span<const SegmentCipher::Segment> segments);
  // The message is cut off at this offset.
  void add_end(std::uint64_t plain_bytes) { bad_.push_back({plain_bytes, 0}); }

  [[nodiscard]] std::uint64_t intact() const noexcept { return intact_; }
  [[nodiscard]] std::vector<BadRange>& bad() noexcept { return bad_; }

 private:
  std::mutex mutex_;
  std::vector<BadRange>& bad_;
  std::uint64_t intact_ = 0;
};

}  // namespace paraes::detail
