// GCM on GPUs: one long message, or segments of one, in launches.
#pragma once

#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "src/cipher/cipher.hpp"
#include "src/cipher/gpu_key.hpp"
#include "src/core/counter.hpp"
#include "src/core/executor.hpp"
#include "src/modes/gcm.hpp"

namespace paraes::detail {

class GpuGcm final : public OnGpu<GcmCipher> {
 public:
  // `key` is the same key for the CPU's part: hash keys, counter blocks, tags, associated data.
  GpuGcm(std::shared_ptr<gpu::DevicePool> pool, std::shared_ptr<const GcmKey> key,
         const Executor& executor, const GpuUse& use);

  void seal(Bytes nonce, Bytes aad, Bytes in, MutableBytes out, std::uint8_t* tag) const override;
  [[nodiscard]] bool open(Bytes nonce, Bytes aad, Bytes in, MutableBytes out,
                          Bytes tag) const override;
  void crypt(Direction direction, const SegmentNonces& nonces,
             std::span<SegmentCipher::Segment> segments) const override;

  [[nodiscard]] std::size_t launch_bytes() const noexcept override;
  [[nodiscard]] unsigned launch_threads() const noexcept override { return gpu_.streams(); }
  [[nodiscard]] const GpuKey* gpu_key() const noexcept override { return &gpu_; }

  // The longest segment of which a launch has many; longer ones are messages of their own.
  [[nodiscard]] std::size_t segment_limit() const noexcept;

  // The text of one message, in parts that are hashed apart.
  struct Part {
    PartialHash hash{};
    bool done = false;
  };
  static constexpr std::size_t part_bytes = std::size_t{16} << 10;
  [[nodiscard]] static std::vector<Part> parts_of(std::size_t bytes);
  // Does all parts, from the block after j0 on. Those that are done say so, also after an
  // exception.
  void text(Direction direction, const GcmCounter& j0, const std::uint8_t* in, std::uint8_t* out,
            std::size_t bytes, std::span<Part> parts) const;
  // Adds the hashes of all parts to the running hash.
  static void join(const GcmKey& key, std::span<const Part> parts, std::uint8_t state[16]);

 private:
  std::shared_ptr<const GcmKey> key_;
};

// Segments from host memory to host memory in one launch of a stream, which has their keys, for
// i < count: segment_of(i), its nonce_of(i), and key_of(i), which numbers its key.
template <class SegmentOf, class NonceOf, class KeyOf>
void launch_segments(gpu::Stream& stream, Direction direction, std::size_t count,
                     const SegmentOf& segment_of, const NonceOf& nonce_of, const KeyOf& key_of) {
  std::vector<paraes_message> messages;
  messages.reserve(count);
  std::size_t at = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const SegmentCipher::Segment& segment = segment_of(i);
    const std::size_t bytes = text_bytes(direction, segment);
    const auto nonce = nonce_of(i);
    std::uint8_t j0[16];
    std::memcpy(j0, nonce.data(), nonce.size());
    store_be32(j0 + 12, 1);
    paraes_message message = gpu::make_message(at, at, bytes, j0);
    message.key = key_of(i);
    message.flags = direction == Direction::encrypt ? 0 : PARAES_HASH_INPUT;
    messages.push_back(message);
    // An empty text may have no address.
    if (bytes != 0) std::memcpy(stream.input() + at, segment.in.data(), bytes);
    at += padded(bytes);
  }
  for (std::size_t i = 0; i < count; ++i) messages[i].tag = at + 16 * i;
  stream.stage_in(at);
  stream.launch("gcm_ctr", messages, 1);
  stream.launch_hash(count);
  stream.stage_out(at + 16 * count);
  stream.finish();
  for (std::size_t i = 0; i < count; ++i) {
    SegmentCipher::Segment& segment = segment_of(i);
    const std::size_t bytes = text_bytes(direction, segment);
    const std::uint8_t* const tag = stream.output() + messages[i].tag;
    if (bytes != 0) std::memcpy(segment.out.data(), stream.output() + messages[i].out, bytes);
    if (direction == Direction::encrypt) {
      std::memcpy(segment.out.data() + bytes, tag, segment_tag_bytes);
    } else {
      segment.intact = gcm_accept(tag, segment.in.last(segment_tag_bytes), segment.out);
    }
    segment.done = true;
  }
}

}  // namespace paraes::detail
