// Seals or opens the segments of one message in order, from pieces of any size.

#include <algorithm>
#include <utility>

#include "paraes/message_streams.hpp"

namespace paraes {

SegmentStream::SegmentStream(Message message, Direction direction, int threads)
    : message_(std::move(message)),
      encrypts_(direction == Direction::encrypt),
      threads_(threads),
      // A last segment of full size cannot be told from others until more follows.
      keeps_full_(message_.layout().last == SegmentLayout::Last::any) {}

std::size_t SegmentStream::output_bytes(std::size_t bytes) const noexcept {
  const std::size_t segments = whole_segments(bytes);
  return segments == 0 ? 0 : size_of(segments, !encrypts_);
}

void SegmentStream::update(Bytes in, MutableBytes out) {
  std::size_t segments = whole_segments(in.size());
  if (segments != 0 && held_ != 0) {
    // The segment that began in earlier calls.
    const std::size_t n = size_of(1, encrypts_) - held_;
    hold(in.first(n));
    const std::size_t written = size_of(1, !encrypts_);
    crypt(false, {pending_.data(), held_}, out.first(written));
    held_ = 0;
    ++next_;
    --segments;
    in = in.subspan(n);
    out = out.subspan(written);
  }
  if (segments != 0) {
    const std::size_t n = size_of(segments, encrypts_);
    crypt(false, in.first(n), out);
    next_ += segments;
    in = in.subspan(n);
  }
  hold(in);
}

std::size_t SegmentStream::final_bytes() const {
  if (encrypts_) return held_ + segment_tag_bytes;
  const SegmentLayout& layout = message_.layout();
  const SegmentLayout::Extent extent = layout.extent_of(layout.sealed_offset(next_) + held_);
  return static_cast<std::size_t>(extent.plain_bytes - layout.plain_offset(next_));
}

void SegmentStream::finish(MutableBytes out) { crypt(true, {pending_.data(), held_}, out); }

// The size of the next `segments` segments, with or without their tags.
std::size_t SegmentStream::size_of(std::size_t segments, bool plain) const noexcept {
  const SegmentLayout& layout = message_.layout();
  return static_cast<std::size_t>(
      plain ? layout.plain_offset(next_ + segments) - layout.plain_offset(next_)
            : layout.sealed_offset(next_ + segments) - layout.sealed_offset(next_));
}

// How many segments can be processed when `bytes` more bytes have come.
std::size_t SegmentStream::whole_segments(std::size_t bytes) const noexcept {
  std::uint64_t total = held_ + bytes;
  const std::size_t first = size_of(1, encrypts_);
  if (keeps_full_ && total != 0) --total;
  if (total < first) return 0;
  const std::uint64_t full = message_.layout().segment_bytes + (encrypts_ ? 0 : segment_tag_bytes);
  return static_cast<std::size_t>(1 + (total - first) / full);
}

void SegmentStream::hold(Bytes in) {
  if (in.empty()) return;
  if (pending_.size() < held_ + in.size()) {
    // Grows with the data: Tink allows segments of 2 GiB.
    const std::size_t most = std::max(size_of(1, encrypts_), held_ + in.size());
    SecretBytes larger(std::min(most, std::max(2 * pending_.size(), held_ + in.size())));
    std::copy_n(pending_.data(), held_, larger.data());
    pending_ = std::move(larger);
  }
  std::copy(in.begin(), in.end(), pending_.data() + held_);
  held_ += in.size();
}

void SegmentStream::crypt(bool ends, Bytes in, MutableBytes out) const {
  if (encrypts_) {
    seal_segments(message_, next_, ends, in, out, threads_);
  } else {
    open_segments(message_, next_, ends, in, out, threads_);
  }
}

}  // namespace paraes
