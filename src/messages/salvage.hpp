// Opens messages with damaged segments or without their end.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "paraes/messages.hpp"

namespace paraes::detail {

// The part of a message of impossible size that can be opened: its complete segments, then perhaps
// a cut one with at least the size of a tag, but not more segments than the format allows.
struct Truncated {
  SegmentLayout::Extent extent;
  std::uint64_t sealed_bytes = 0;  // of these segments, with the header
};
[[nodiscard]] Truncated truncated_extent(const SegmentLayout& layout, std::uint64_t sealed_bytes);

// Counts the intact segments of a message and lists the others. add() is thread-safe. The list is
// as short as the damage allows, also while chunks arrive in another order: a file may have 2^38
// segments.
class SalvageList {
 public:
  explicit SalvageList(std::vector<BadRange>& bad) : bad_(bad) {}

  // Adds consecutive segments, the first of which is at offset `plain_begin` of the plaintext.
  void add(std::uint64_t plain_begin, std::span<const SegmentCipher::Segment> segments);
  // Records that the message is truncated at this offset of the plaintext.
  void add_end(std::uint64_t plain_bytes) { bad_.push_back({plain_bytes, 0}); }

  [[nodiscard]] std::uint64_t intact() const noexcept { return intact_; }
  [[nodiscard]] std::vector<BadRange>& bad() noexcept { return bad_; }

 private:
  static constexpr std::size_t least_to_join = 1024;

  std::mutex mutex_;
  std::vector<BadRange>& bad_;
  std::size_t join_at_ = least_to_join;  // size from which adjacent ranges are joined
  std::uint64_t intact_ = 0;
};

}  // namespace paraes::detail
