// Seals or opens the segments of one message in order, from pieces of any size.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "paraes/messages.hpp"

namespace paraes::python {

class SegmentStream {
 public:
  SegmentStream(Message message, Direction direction, int threads)
      : message_(std::move(message)),
        encrypts_(direction == Direction::encrypt),
        threads_(threads),
        // A last segment of full size cannot be told from others until more follows.
        keeps_full_(message_.layout().last == SegmentLayout::Last::any) {}

  [[nodiscard]] const Message& message() const noexcept { return message_; }

  // The bytes of the next segment that have come.
  [[nodiscard]] std::size_t held() const noexcept { return held_; }

  // The bytes that update writes for `bytes` bytes.
  [[nodiscard]] std::size_t output_bytes(std::size_t bytes) const noexcept {
    const std::size_t segments = whole_segments(bytes);
    return segments == 0 ? 0 : size_of(segments, !encrypts_);
  }

  // out: output_bytes(in.size()) bytes that do not overlap `in`. Throws as seal_segments and
  // open_segments do; the stream cannot be used any more then.
  void update(Bytes in, MutableBytes out) {
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

  // The bytes that finish writes. Throws IntegrityError if a message cannot end here.
  [[nodiscard]] std::size_t final_bytes() const {
    if (encrypts_) return held_ + segment_tag_bytes;
    const SegmentLayout& layout = message_.layout();
    const SegmentLayout::Extent extent = layout.extent_of(layout.sealed_offset(next_) + held_);
    return static_cast<std::size_t>(extent.plain_bytes - layout.plain_offset(next_));
  }

  // Ends the message. out: final_bytes() bytes.
  void finish(MutableBytes out) { crypt(true, {pending_.data(), held_}, out); }

 private:
  // The size of the next `segments` segments, with or without their tags.
  [[nodiscard]] std::size_t size_of(std::size_t segments, bool plain) const noexcept {
    const SegmentLayout& layout = message_.layout();
    return static_cast<std::size_t>(
        plain ? layout.plain_offset(next_ + segments) - layout.plain_offset(next_)
              : layout.sealed_offset(next_ + segments) - layout.sealed_offset(next_));
  }

  // How many segments can be processed when `bytes` more bytes have come.
  [[nodiscard]] std::size_t whole_segments(std::size_t bytes) const noexcept {
    std::uint64_t total = held_ + bytes;
    const std::size_t first = size_of(1, encrypts_);
    if (keeps_full_ && total != 0) --total;
    if (total < first) return 0;
    const std::uint64_t full =
        message_.layout().segment_bytes + (encrypts_ ? 0 : segment_tag_bytes);
    return static_cast<std::size_t>(1 + (total - first) / full);
  }

  void hold(Bytes in) {
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

  void crypt(bool ends, Bytes in, MutableBytes out) const {
    if (encrypts_) {
      seal_segments(message_, next_, ends, in, out, threads_);
    } else {
      open_segments(message_, next_, ends, in, out, threads_);
    }
  }

  Message message_;
  bool encrypts_;
  int threads_;
  bool keeps_full_;
  std::uint64_t next_ = 0;  // the next segment
  SecretBytes pending_;     // the start of it: plaintext, when it is sealed
  std::size_t held_ = 0;
};

}  // namespace paraes::python
