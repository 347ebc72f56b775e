// Segments, the independently authenticated ranges of a message: their positions, and how to seal
// (encrypt) and open (decrypt) them. The authenticated formats (messages.hpp) are built on these.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "paraes/ciphers.hpp"
#include "paraes/export.hpp"
#include "paraes/forks.hpp"

namespace paraes {

inline constexpr std::size_t segment_tag_bytes = 16;

// The positions of a message's segments. A sealed segment is its plaintext's size plus
// segment_tag_bytes for the tag. Results are exact for messages of up to 2^63 - 1 bytes.
struct PARAES_EXPORT SegmentLayout {
  // Size of the last segment.
  enum class Last {
    shorter,  // shorter than a full one; empty if the plaintext ends with a full segment (C2SP)
    any,      // up to that of a full one; empty only if the plaintext is empty (Tink)
  };

  std::uint64_t header_bytes = 0;   // size of the header, which precedes segment 0
  std::uint64_t first_bytes = 0;    // plaintext of a full segment 0, at least 1
  std::uint64_t segment_bytes = 0;  // plaintext of any other full segment, at least 1
  std::uint64_t max_segments = 0;
  Last last = Last::shorter;

  // Offsets of segment `index` in the plaintext and in the sealed message, header included.
  [[nodiscard]] std::uint64_t plain_offset(std::uint64_t index) const noexcept;
  [[nodiscard]] std::uint64_t sealed_offset(std::uint64_t index) const noexcept;

  // The segment that holds the byte `offset` of the plaintext.
  [[nodiscard]] std::uint64_t segment_at(std::uint64_t offset) const noexcept;

  // Number of segments, and size of the sealed message with its header, for a plaintext of `bytes`
  // bytes. Throws InvalidArgument if it has more than max_segments.
  [[nodiscard]] std::uint64_t segments_of(std::uint64_t bytes) const;
  [[nodiscard]] std::uint64_t sealed_bytes(std::uint64_t bytes) const;

  // The contents of a sealed message, computed from its size.
  struct Extent {
    std::uint64_t segments = 0;
    std::uint64_t plain_bytes = 0;
    // The last segment is empty and follows a full one. Tink's readers accept that, but its writers
    // never produce it.
    bool empty_last = false;
  };

  [[nodiscard]] bool operator==(const SegmentLayout& other) const noexcept = default;

  // sealed_size includes the header. Throws IntegrityError for a size that no message has: one that
  // ends within the header, within a tag, or (C2SP) with a full segment.
  [[nodiscard]] Extent extent_of(std::uint64_t sealed_size) const;
};

struct CipherSegment;
class SegmentStaging;

// The nonces of the segments of one message.
struct PARAES_EXPORT SegmentNonces {
  enum class Kind {
    counted,   // base nonce XOR the index as a 96-bit big-endian integer (C2SP)
    prefixed,  // first 7 bytes of the base nonce, index in 4 bytes, 1 for the last segment (Tink)
  };

  std::array<std::uint8_t, 12> base{};
  Kind kind = Kind::counted;

  // Throws InvalidArgument if `prefixed` has no room for the index: from 2^32 on. `counted` takes
  // all of them, although C2SP allows only 2^38: see SegmentLayout::max_segments.
  [[nodiscard]] std::array<std::uint8_t, 12> nonce(std::uint64_t index, bool last) const;
};

// AES-GCM (SP 800-38D) for the segments of one message: a key, nonces, and no associated data. Any
// number of threads may use an object at once.
class PARAES_EXPORT SegmentCipher final : public Cipher {
 public:
  using Nonces = SegmentNonces::Kind;

  // key: 16 or 32 bytes; base_nonce: 12 bytes, of which `prefixed` uses 7. Each segment is spread
  // over execution.threads threads: leave it at 1 unless segments are large. Throws as the
  // constructors of ciphers.hpp do.
  SegmentCipher(Bytes key, Bytes base_nonce, Nonces nonces, const Execution& execution);

  // The sealed text is segment_tag_bytes longer than the plaintext. `in` and `out` do not overlap,
  // or begin at the same byte.
  struct Segment {
    std::uint64_t index = 0;
    bool last = false;
    Bytes in;
    MutableBytes out;
    // Set by crypt. If crypt throws, segments that are not done have an unspecified `out`.
    bool done = false;
    // Set by crypt when opening: whether the tag matches. If not, `out` is all zero.
    bool intact = false;
  };

  // Seals (section 7.1) or opens (section 7.2) segments of one message. A GPU needs many segments
  // per call to be busy; a CPU interleaves short ones. Before it processes any, it throws
  // InvalidArgument if the sizes of a segment do not match, if its plaintext has more than 2^36 -
  // 32 bytes (section 5.2.1.1), or if SegmentNonces has no nonce for its index; and WrongProcess if
  // it seals in a child of the process that made the cipher (forks.hpp). No `in` overlaps the `out`
  // of another segment.
  void crypt(Direction direction, std::span<Segment> segments) const;

  // Seals or opens segments of several messages, each with its own cipher. Segments for one device
  // share launches, which makes GPUs worthwhile for small messages; a CPU interleaves short ones.
  // Segments of one message must be adjacent in the list. Aliasing and errors as above.
  static void crypt(Direction direction, std::span<CipherSegment> segments);

  // How many bytes of plaintext to pass to one call of crypt, and from how many threads to call it
  // at once. Both are zero on a CPU, where any number will do.
  [[nodiscard]] std::size_t launch_bytes() const noexcept;
  [[nodiscard]] unsigned launch_threads() const noexcept;
  // How many of these threads compute on the CPU: none, unless that shares the work with a GPU.
  [[nodiscard]] unsigned cpu_threads() const noexcept;

  // Memory for one call after another, each with up to `segments` segments of up to segment_bytes
  // bytes of plaintext; see SegmentStaging. Waits until a stream of the GPU is free. nullptr if
  // this cipher has no such memory: on a CPU, with Transfer::mapped, with `overlap` off, with a
  // single stream, and for more than a launch takes. Then crypt() is the way.
  //
  // bytes_left: of plaintext in this call and after it, with which "cpu+cuda:0" chooses the CPU or
  // the GPU. Where it chooses the CPU, the memory is ordinary memory.
  [[nodiscard]] std::unique_ptr<SegmentStaging> stage(std::size_t segments,
                                                      std::uint64_t segment_bytes,
                                                      std::uint64_t bytes_left = std::uint64_t{1}
                                                                                 << 62) const;

  // The nonces of the message.
  [[nodiscard]] const SegmentNonces& nonces() const noexcept { return nonces_; }
  // For the library's own use.
  [[nodiscard]] const detail::GcmCipher& gcm() const noexcept { return *cipher_; }

 private:
  [[nodiscard]] const detail::HostCipher& on_device() const noexcept override;

  friend class Message;  // its parts may be older
  friend class SegmentStaging;
  void check_owner(Direction direction) const {
    if (direction == Direction::encrypt) owner_.check("a message that is being encrypted");
  }

  std::shared_ptr<const detail::GcmCipher> cipher_;
  SegmentNonces nonces_;
  OwnerProcess owner_;
};

// Memory of the host that a GPU reads and writes: segments in it need no further copy. It is
// pinned, and belongs to a stream of the GPU, which is free for others when the object is
// destroyed. So a thread holds one at a time, calls no other function of a cipher for the same GPUs
// meanwhile, and does not wait for a thread that does. The cipher must outlive it. One thread at a
// time may use it.
class PARAES_EXPORT SegmentStaging final {
 public:
  ~SegmentStaging();
  SegmentStaging(const SegmentStaging&) = delete;
  SegmentStaging& operator=(const SegmentStaging&) = delete;

  // Each has room for as many sealed segments as were asked for, and `spare` bytes more, so that
  // the segments may begin anywhere in a page.
  static constexpr std::size_t spare = 4096;
  // The memory for inputs, and that for outputs.
  [[nodiscard]] MutableBytes in() const noexcept;
  [[nodiscard]] MutableBytes out() const noexcept;

  // Does what SegmentCipher::crypt does, for segments whose `in` is in in() and whose `out` is in
  // out(). Each begins a multiple of 16 bytes after that of the first, and all bytes of both
  // memories that are not in a segment are unspecified afterwards. Throws InvalidArgument for
  // others, and for more segments than were asked for.
  void crypt(Direction direction, std::span<SegmentCipher::Segment> segments);

 private:
  friend class SegmentCipher;
  SegmentStaging(const SegmentCipher& cipher, std::unique_ptr<detail::StagedSegments> staged,
                 std::size_t most_segments);

  const SegmentCipher& cipher_;
  std::unique_ptr<detail::StagedSegments> staged_;
  std::size_t most_segments_;
};

// A segment, and the cipher of its message.
struct CipherSegment {
  const SegmentCipher* cipher = nullptr;
  SegmentCipher::Segment segment;
};

}  // namespace paraes
