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
  return index == 0 ? 0 : first_bytes + (index - 1) * segment_bytes;
}

std::uint64_t SegmentLayout::sealed_offset(std::uint64_t index) const noexcept {
  return header_bytes + plain_offset(index) + index * segment_tag_bytes;
}

std::uint64_t SegmentLayout::segment_at(std::uint64_t offset) const noexcept {
  return offset < first_bytes ? 0 : 1 + (offset - first_bytes) / segment_bytes;
}

std::uint64_t SegmentLayout::segments_of(std::uint64_t bytes) const {
  // The last segment holds the position after the last byte or, with Last::any, the last byte.
  const bool full_last = last == Last::any && bytes != 0;
  const std::uint64_t count = segment_at(full_last ? bytes - 1 : bytes) + 1;
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
  const auto bad = [&](const char* why) {
    return IntegrityError("the input is truncated or damaged: its size of " +
                          std::to_string(sealed_size) + " bytes " + why);
  };
  if (sealed_size < header_bytes) throw bad("ends within the header");
  const std::uint64_t body = sealed_size - header_bytes;
  if (body < segment_tag_bytes) throw bad("leaves no room for a segment");
  const std::uint64_t first_sealed = first_bytes + segment_tag_bytes;
  Extent extent;
  extent.segments = 1;
  if (body > first_sealed) {
    const std::uint64_t sealed = segment_bytes + segment_tag_bytes;
    const std::uint64_t rest = (body - first_sealed) % sealed;
    if (rest != 0 && rest < segment_tag_bytes) throw bad("ends within the tag of a segment");
    extent.segments += (body - first_sealed) / sealed + (rest != 0 ? 1 : 0);
    extent.empty_last = rest == segment_tag_bytes;
    if (rest == 0 && last == Last::shorter) throw bad("ends where another segment must follow");
  } else if (body == first_sealed && last == Last::shorter) {
    throw bad("ends where another segment must follow");
  }
  if (extent.segments > max_segments) throw bad("is more than this format allows");
  extent.plain_bytes = body - extent.segments * segment_tag_bytes;
  return extent;
}

}  // namespace paraes
