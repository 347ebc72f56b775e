// A message, its cipher, and the positions of its segments.

#include <string>
#include <utility>

#include "paraes/error.hpp"
#include "paraes/messages.hpp"
#include "src/messages/segments.hpp"

namespace paraes {

namespace {

Message::Parts copy_of(const Message::Parts& parts) {
  return {.header = parts.header,
          .layout = parts.layout,
          .secret = {.key = SecretBytes(parts.secret.key.span()),
                     .base_nonce = parts.secret.base_nonce,
                     .nonces = parts.secret.nonces},
          .commits = parts.commits,
          .owner = parts.owner};
}

// The execution of a segment cipher.
Execution for_segments(const Execution& execution, std::uint64_t segment_bytes) {
  Execution own = execution;
  if (segment_bytes <= large_segment_bytes) own.threads = 1;
  return own;
}

const char* text_of(detail::SizeFault fault) {
  switch (fault) {
    case detail::SizeFault::in_header:
      return "ends within the header";
    case detail::SizeFault::no_segment:
      return "leaves no room for a segment";
    case detail::SizeFault::in_tag:
      return "ends within the tag of a segment";
    case detail::SizeFault::after_full:
      return "ends where another segment must follow";
    default:
      return "is more than this format allows";
  }
}

}  // namespace

Message::Message(Parts&& parts, const Execution& execution)
    : parts_(std::move(parts)),
      cipher_(parts_.secret.key.span(), parts_.secret.base_nonce, parts_.secret.nonces,
              for_segments(execution, parts_.layout.segment_bytes)) {
  cipher_.owner_ = parts_.owner;
}

Message::Message(const Parts& parts, const Execution& execution)
    : Message(copy_of(parts), execution) {}

std::uint64_t SegmentLayout::plain_offset(std::uint64_t index) const noexcept {
  return detail::plain_offset(sizes_of(*this), index);
}

std::uint64_t SegmentLayout::sealed_offset(std::uint64_t index) const noexcept {
  return detail::sealed_offset(sizes_of(*this), index);
}

std::uint64_t SegmentLayout::segment_at(std::uint64_t offset) const noexcept {
  return detail::segment_at(sizes_of(*this), offset);
}

std::uint64_t SegmentLayout::segments_of(std::uint64_t bytes) const {
  const std::uint64_t count = detail::segment_count(sizes_of(*this), bytes);
  if (count > max_segments) {
    throw InvalidArgument("a message of " + std::to_string(bytes) + " bytes would have " +
                          std::to_string(count) + " segments; the format allows " +
                          std::to_string(max_segments) + ": split it, or use larger segments");
  }
  return count;
}

std::uint64_t SegmentLayout::sealed_bytes(std::uint64_t bytes) const {
  return header_bytes + bytes + segments_of(bytes) * segment_tag_bytes;
}

SegmentLayout::Extent SegmentLayout::extent_of(std::uint64_t sealed_size) const {
  detail::Contents contents;
  const detail::SizeFault fault = detail::contents_of(sizes_of(*this), sealed_size, contents);
  if (fault != detail::SizeFault::none) {
    throw IntegrityError("the input is truncated or damaged: its size of " +
                         std::to_string(sealed_size) + " bytes " + text_of(fault));
  }
  return detail::extent_of(contents);
}

}  // namespace paraes
