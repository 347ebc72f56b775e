// GCM on GPUs: whole messages, and segments of one message.
#pragma once

#include <array>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "paraes/secret.hpp"
#include "src/cipher/cipher.hpp"
#include "src/cipher/gpu_key.hpp"
#include "src/core/bulk_copy.hpp"
#include "src/core/counter.hpp"
#include "src/core/executor.hpp"
#include "src/modes/gcm.hpp"

namespace paraes::detail {

class GpuGcm final : public OnGpu<GcmCipher, std::shared_ptr<const GcmKey>> {
 public:
  // `key` is the key for the work that the CPU does in seal() and open(): initial counter block,
  // associated data, joined hashes and tag.
  GpuGcm(std::shared_ptr<gpu::DevicePool> pool, const std::shared_ptr<const GcmKey>& key,
         const Executor& executor, const GpuUse& use);

  void seal(const GcmMessage& message) const override;
  [[nodiscard]] bool open(const GcmMessage& message) const override;
  void crypt(Direction direction, const SegmentNonces& nonces,
             std::span<SegmentCipher::Segment> segments) const override;

  [[nodiscard]] bool stages(std::size_t segments,
                            std::uint64_t segment_bytes) const noexcept override;
  [[nodiscard]] std::unique_ptr<StagedSegments> stage(std::size_t segments,
                                                      std::uint64_t segment_bytes,
                                                      std::uint64_t left) const override;

  [[nodiscard]] std::size_t launch_bytes() const noexcept override;
  [[nodiscard]] unsigned launch_threads() const noexcept override { return gpu_.streams(); }
  [[nodiscard]] const GpuKey* gpu_key() const noexcept override { return &gpu_; }

  // Segments up to this size share launches; longer ones are processed like whole messages.
  [[nodiscard]] std::size_t segment_limit() const noexcept;

  // A range of the text of one message, with its hash from zero.
  struct HashRange {
    PartialHash hash{};
    bool done = false;
  };
  static constexpr std::size_t hash_range_bytes = std::size_t{16} << 10;
  // The ranges of a text of `bytes` bytes.
  [[nodiscard]] static std::vector<HashRange> hash_ranges(std::size_t bytes);
  // Encrypts or decrypts the text, beginning with the counter block after j0, and hashes each
  // range. Marks each range that is done, even if it throws later.
  void text(Direction direction, const GcmCounter& j0, const std::uint8_t* in, std::uint8_t* out,
            std::size_t bytes, std::span<HashRange> ranges) const;
  // Continues the running hash `state` over all ranges.
  static void join(const GcmKey& key, std::span<const HashRange> ranges, std::uint8_t state[16]);

 private:
  // Encrypts or decrypts a message and computes its tag.
  void whole(Direction direction, const GcmMessage& message, std::uint8_t tag[16]) const;
};

// GCM on `gpu`. When that fails, `cpu` finishes the operation and does all later ones. Both use
// `key`.
[[nodiscard]] std::shared_ptr<const GcmCipher> with_fallback(std::unique_ptr<const GpuGcm> gpu,
                                                             std::shared_ptr<const GcmCipher> cpu,
                                                             std::shared_ptr<const GcmKey> key);

// A launch's description of a segment whose text is at `from` of its input and `to` of its output.
// Its tag has no place yet.
[[nodiscard]] inline paraes_message message_of(Direction direction, std::size_t from,
                                               std::size_t to,
                                               const SegmentCipher::Segment& segment,
                                               std::span<const std::uint8_t, 12> nonce) {
  std::uint8_t j0[16];
  std::memcpy(j0, nonce.data(), nonce.size());
  store_be32(j0 + 12, 1);
  paraes_message message = gpu::make_message(from, to, text_bytes(direction, segment), j0);
  message.flags = direction == Direction::encrypt ? 0 : PARAES_HASH_INPUT;
  return message;
}

// Notes that the output of a segment is in place, for which a launch has computed `tag`.
inline void take_tag(Direction direction, std::uint8_t* tag, SegmentCipher::Segment& segment) {
  bool intact = true;
  if (direction == Direction::encrypt) {
    std::memmove(segment.out.last(segment_tag_bytes).data(), tag, segment_tag_bytes);
  } else {
    intact = constant_time_equal({tag, segment_tag_bytes}, segment.in.last(segment_tag_bytes));
    secure_zero(tag, segment_tag_bytes);  // of a forgery, the right one
  }
  finish(direction, segment, intact);
}

// Whether part_of(0), …, part_of(count - 1) lie one behind the other, each a multiple of 16 bytes
// behind the first and at most `gap` bytes behind the end of the one before.
bool are_one_stretch(std::size_t count, const auto& part_of, std::size_t gap) {
  const auto address = [&](std::size_t i) {
    return reinterpret_cast<std::uintptr_t>(part_of(i).data());
  };
  for (std::size_t i = 1; i < count; ++i) {
    if ((address(i) - address(0)) % 16 != 0) return false;
    // Wraps around if it begins before that end.
    if (address(i) - (address(i - 1) + part_of(i - 1).size()) > gap) return false;
  }
  return true;
}

// Copies the output of a launch, as copy_text_out() does, and waits for it. If that fails, the
// plaintext of opened segments that has arrived in the caller's memory is not authentic: no tag was
// compared.
void copy_segments_out(gpu::Stream& stream, Direction direction, std::size_t count,
                       const auto& segment_of, const DirectCopies& direct, std::size_t bytes,
                       std::size_t end) {
  try {
    copy_text_out(stream, direct, segment_of(0).out.data(), bytes, end);
    stream.finish();
  } catch (...) {
    if (!direct.out || direction == Direction::encrypt) throw;
    stream.settle();  // copies may still write there
    for (std::size_t i = 0; i < count; ++i) {
      const MutableBytes out = segment_of(i).out;
      secure_zero(out.data(), out.size());
    }
    throw;
  }
}

// Seals or opens segments in host memory with one launch on a stream that holds their keys. For
// i < count, segment_of(i) is a segment, nonce_of(i) its nonce, and key_of(i) the index of its key.
// Each side that `direct` allows is copied directly if its segments are one stretch: a copy of its
// own for each would take longer.
void launch_segments(gpu::Stream& stream, Direction direction, std::size_t count,
                     const auto& segment_of, const auto& nonce_of, const auto& key_of,
                     DirectCopies direct = {}) {
  const bool seals = direction == Direction::encrypt;
  const auto in_of = [&](std::size_t i) { return segment_of(i).in; };
  const auto out_of = [&](std::size_t i) { return segment_of(i).out; };
  // Copies include the bytes between inputs, which are tags. Bytes between outputs must not change.
  direct.in = direct.in && are_one_stretch(count, in_of, segment_tag_bytes);
  direct.out = direct.out && are_one_stretch(count, out_of, 0);
  constexpr std::uint64_t none = UINT64_MAX;
  std::vector<paraes_message> messages;
  messages.reserve(count);
  std::size_t all = 0;
  for (std::size_t i = 0; i < count; ++i) all += text_bytes(direction, segment_of(i));
  std::size_t at = 0;  // of texts that are not copied directly
  std::size_t in_bytes = 0;
  std::size_t out_bytes = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const SegmentCipher::Segment& segment = segment_of(i);
    const std::size_t bytes = text_bytes(direction, segment);
    const std::array<std::uint8_t, 12> nonce = nonce_of(i);
    const auto from =
        direct.in ? static_cast<std::size_t>(segment.in.data() - in_of(0).data()) : at;
    const auto to =
        direct.out ? static_cast<std::size_t>(segment.out.data() - out_of(0).data()) : at;
    messages.push_back(message_of(direction, from, to, segment, nonce));
    messages.back().key = key_of(i);
    messages.back().tag = none;
    if (!direct.in) copy_part(stream.input() + from, segment.in.data(), bytes, all);
    at += padded(bytes);
    in_bytes = from + bytes;
    out_bytes = to + bytes;
    // The GPU writes tags at multiples of 4 only.
    if (direct.out && seals && out_bytes % 4 == 0) {
      messages.back().tag = out_bytes;
      out_bytes += segment_tag_bytes;
    }
  }
  std::size_t end = padded(out_bytes);
  for (paraes_message& message : messages) {
    if (message.tag != none) continue;
    message.tag = end;
    end += segment_tag_bytes;
  }
  if (direct.in) {
    stream.copy_in_from(in_of(0).data(), in_bytes, end);
  } else {
    stream.stage_in(0, at, end);
  }
  stream.launch("gcm_ctr", messages);
  stream.launch_hash(count);
  copy_segments_out(stream, direction, count, segment_of, direct, out_bytes, end);
  for (std::size_t i = 0; i < count; ++i) {
    SegmentCipher::Segment& segment = segment_of(i);
    const std::size_t bytes = text_bytes(direction, segment);
    if (!direct.out) {
      copy_part(segment.out.data(), stream.output() + messages[i].out, bytes, all);
    }
    const bool is_there = direct.out && messages[i].tag < out_bytes;
    take_tag(direction, is_there ? segment.out.data() + bytes : stream.output() + messages[i].tag,
             segment);
  }
}

}  // namespace paraes::detail
