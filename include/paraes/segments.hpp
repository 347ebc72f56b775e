// Messages cut into segments that are authenticated one by one: where the segments of a message
// lie, and how one is sealed and opened. The authenticated formats (messages.hpp) are built on it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "paraes/ciphers.hpp"

namespace paraes {

inline constexpr std::size_t segment_tag_bytes = 16;

// How the segments of a message follow each other. A sealed segment is as many bytes as its
// plaintext and a tag of segment_tag_bytes. All numbers of bytes and of segments are exact up to
// messages of 2^63 - 1 bytes.
struct SegmentLayout {
  // What the last segment may be. `shorter`: always shorter than a full one, and empty where the
  // plaintext fills the one before it (C2SP). `any`: a full one too; only the empty message has an
  // empty segment (Tink).
  enum class Last { shorter, any };

  std::uint64_t header_bytes = 0;   // in front of segment 0
  std::uint64_t first_bytes = 0;    // plaintext of a full segment 0, at least 1
  std::uint64_t segment_bytes = 0;  // plaintext of a full later one, at least 1
  std::uint64_t most_segments = 0;
  Last last = Last::shorter;

  // Offsets of segment `index` in the plaintext and in the sealed message, header included.
  [[nodiscard]] std::uint64_t plain_offset(std::uint64_t index) const noexcept;
  [[nodiscard]] std::uint64_t sealed_offset(std::uint64_t index) const noexcept;

  // The segment that holds the byte `offset` of the plaintext.
  [[nodiscard]] std::uint64_t segment_at(std::uint64_t offset) const noexcept;

  // How many segments a plaintext of `bytes` bytes has, and its sealed size. Throws InvalidArgument
  // if that is over most_segments.
  [[nodiscard]] std::uint64_t segments_of(std::uint64_t bytes) const;
  [[nodiscard]] std::uint64_t sealed_bytes(std::uint64_t bytes) const;

  // What a sealed message of some size holds, if it is whole.
  struct Extent {
    std::uint64_t segments = 0;
    std::uint64_t plain_bytes = 0;
    // Tink takes an empty last segment after a full one when reading, and never writes it.
    bool empty_last = false;
  };

  // Throws IntegrityError for a size that no message has: one that ends within the header, within a
  // tag, or (C2SP) with a full segment.
  [[nodiscard]] Extent extent_of(std::uint64_t sealed_size) const;
};

struct CipherSegment;

// The nonces of the segments of one message.
struct SegmentNonces {
  enum class Kind {
    counted,   // base nonce XOR the index as a 96-bit big-endian integer (C2SP)
    prefixed,  // first 7 bytes of the base nonce, index in 4 bytes, 1 for the last segment (Tink)
  };

  std::array<std::uint8_t, 12> base{};
  Kind kind = Kind::counted;

  [[nodiscard]] std::array<std::uint8_t, 12> nonce(std::uint64_t index, bool last) const noexcept;
};

// AES-GCM for the segments of messages: a key, nonces and no associated data. Unlike the other
// ciphers, one object serves any number of threads at once.
class SegmentCipher final : public Cipher {
 public:
  using Nonces = SegmentNonces::Kind;

  // key: 16 or 32 bytes; base_nonce: 12 bytes, of which prefixed uses 7. execution.threads spreads
  // each single segment: leave it at 1 unless segments are large.
  SegmentCipher(Bytes key, Bytes base_nonce, Nonces nonces, const Execution& execution);

  // One segment. The sealed text has segment_tag_bytes bytes more than the plaintext; `in` and
  // `out` do not overlap, except that both may begin at the same byte.
  struct Segment {
    std::uint64_t index = 0;
    bool last = false;
    Bytes in;
    MutableBytes out;
    bool done = false;    // set by crypt; where it threw, others are as they were
    bool intact = false;  // set when decrypting; if the tag does not match, `out` is all zero
  };

  // Seals (SP 800-38D section 7.1) or opens (section 7.2) segments of one message. A GPU needs many
  // at once to have enough to do; a CPU takes one after the other. Throws InvalidArgument for a
  // segment whose sizes do not fit, before it does any.
  void crypt(Direction direction, std::span<Segment> segments) const;

  // Seals or opens segments of several messages, each with its own cipher: those of one device go
  // into one launch, which makes small messages worth a GPU. Segments of a message follow each
  // other; `in` and `out` do not overlap.
  static void crypt(Direction direction, std::span<CipherSegment> segments);

  // Bytes of plaintext that one call of crypt should have, and how many threads should call it at
  // once. Zero on a CPU: any number does, and threads are the caller's to choose.
  [[nodiscard]] std::size_t launch_bytes() const noexcept;
  [[nodiscard]] unsigned launch_threads() const noexcept;

  [[nodiscard]] const SegmentNonces& nonces() const noexcept { return nonces_; }
  // For the library alone.
  [[nodiscard]] const detail::GcmCipher& gcm() const noexcept { return *cipher_; }

 private:
  [[nodiscard]] const detail::DeviceCipher& on_device() const noexcept override;

  std::shared_ptr<const detail::GcmCipher> cipher_;
  SegmentNonces nonces_;
};

struct CipherSegment {
  const SegmentCipher* cipher = nullptr;
  SegmentCipher::Segment segment;
};

}  // namespace paraes
