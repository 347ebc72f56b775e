// A cipher is a key that is ready to work on a device: one interface for each kind of key, with an
// implementation for the CPU and one for GPUs. open.hpp creates them, and callers need not know
// which one they hold.
//
// Common to all operations:
//   checks     the public classes (ciphers.cpp, segments.cpp) have checked the arguments;
//   aliasing   `out` equals `in`, or the two do not overlap;
//   threads    any number of threads may use one object at once;
//   errors     GPUs throw DeviceError; the `openssl` kernel throws Error.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "paraes/ciphers.hpp"
#include "paraes/error.hpp"
#include "paraes/secret.hpp"
#include "paraes/segments.hpp"
#include "src/cipher/segment_nonce.hpp"
#include "src/core/non_copyable.hpp"
#include "src/kernels/kernel.hpp"
#include "src/modes/gcm.hpp"

namespace paraes::detail {

class GpuKey;

class HostCipher : NonCopyable {
 public:
  virtual ~HostCipher() { wipe_stack(); }

  [[nodiscard]] virtual std::string_view kernel() const noexcept = 0;
  [[nodiscard]] virtual std::string device() const = 0;
  [[nodiscard]] virtual int threads() const noexcept = 0;
  // Why the CPU has taken over from a GPU; empty if it has not.
  [[nodiscard]] virtual std::string fallback() const { return {}; }
  // The time that GPUs were busy in each phase since the last call.
  [[nodiscard]] virtual PhaseTimes take_times() const noexcept { return {}; }
};

// ECB, CBC and CTR (SP 800-38A).
class BlockCipher : public HostCipher {
 public:
  // `bytes` is a multiple of 16 in ECB and CBC.
  virtual void ecb(Direction direction, const std::uint8_t* in, std::uint8_t* out,
                   std::size_t bytes) const = 0;
  // `chain` is the ciphertext block before `in`, at first the IV. On return it is the last
  // ciphertext block.
  virtual void cbc_encrypt(std::uint8_t chain[16], const std::uint8_t* in, std::uint8_t* out,
                           std::size_t bytes) const = 0;
  virtual void cbc_decrypt(std::uint8_t chain[16], const std::uint8_t* in, std::uint8_t* out,
                           std::size_t bytes) const = 0;
  // Any number of bytes. The first one uses byte `offset` of the key stream that begins with the
  // counter block `initial`.
  virtual void ctr(const std::uint8_t initial[16], std::uint64_t offset, const std::uint8_t* in,
                   std::uint8_t* out, std::size_t bytes) const = 0;
};

// SP 800-38E (IEEE 1619).
class XtsCipher : public HostCipher {
 public:
  // At least 16 bytes, as consecutive data units of `unit_bytes` bytes. The first has the number
  // `first_unit`, little-endian. unit_bytes = 0 makes all bytes one unit.
  virtual void xts(Direction direction, const std::uint8_t first_unit[16], std::size_t unit_bytes,
                   const std::uint8_t* in, std::uint8_t* out, std::size_t bytes) const = 0;
};

// See SegmentStaging, which has checked the arguments.
class StagedSegments : public Interface {
 public:
  [[nodiscard]] virtual MutableBytes in() const noexcept = 0;
  [[nodiscard]] virtual MutableBytes out() const noexcept = 0;
  // Like GcmCipher::crypt. When it throws, nothing writes to out() any more.
  virtual void crypt(Direction direction, const SegmentNonces& nonces,
                     std::span<SegmentCipher::Segment> segments) = 0;
};

// SP 800-38D.
class GcmCipher : public HostCipher {
 public:
  // Encrypts and authenticates (section 7.1). The nonce has 12 bytes.
  virtual void seal(const GcmMessage& message) const = 0;
  // Decrypts and verifies (section 7.2). Returns false if the tag does not match: the caller must
  // then zeroise `out`.
  [[nodiscard]] virtual bool open(const GcmMessage& message) const = 0;
  // Encrypts or decrypts each of several messages. Sets GcmText::intact, and zeroises the output of
  // a message that is not.
  virtual void crypt_texts(Direction direction, std::span<GcmText> texts) const;
  // Seals or opens those segments of one message that are not done (see SegmentCipher). Sets
  // Segment::done of each segment that it finishes, even if it throws later.
  virtual void crypt(Direction direction, const SegmentNonces& nonces,
                     std::span<SegmentCipher::Segment> segments) const = 0;

  // See SegmentCipher::stage. Whether there is such memory, and that memory.
  [[nodiscard]] virtual bool stages(std::size_t /*segments*/,
                                    std::uint64_t /*segment_bytes*/) const noexcept {
    return false;
  }
  [[nodiscard]] virtual std::unique_ptr<StagedSegments> stage(std::size_t /*segments*/,
                                                              std::uint64_t /*segment_bytes*/,
                                                              std::uint64_t /*left*/) const {
    return nullptr;
  }

  // The key with which a kernel of the CPU processes a message of `bytes` bytes together with
  // others; nullptr if this cipher would process it otherwise.
  [[nodiscard]] virtual const ShortGcmKey* short_key(std::uint64_t /*bytes*/) const noexcept {
    return nullptr;
  }

  // How many bytes of text one launch should have, and how many threads should launch at once. Both
  // are zero on a CPU, where any number is as good.
  [[nodiscard]] virtual std::size_t launch_bytes() const noexcept { return 0; }
  [[nodiscard]] virtual unsigned launch_threads() const noexcept { return 0; }
  // How many of these threads compute on the CPU.
  [[nodiscard]] virtual unsigned cpu_threads() const noexcept { return 0; }

  // The key on GPUs, with which segments can share a launch with those of other keys. nullptr if
  // this cipher does not use a GPU, or no longer does.
  [[nodiscard]] virtual const GpuKey* gpu_key() const noexcept { return nullptr; }
  // To be called after such a shared launch failed with `error`. Returns whether the CPU takes
  // over.
  [[nodiscard]] virtual bool falls_back(const Error&) const { return false; }
};

[[nodiscard]] inline GcmMessage message_of(Bytes nonce, Bytes aad, Bytes in,
                                           MutableBytes out) noexcept {
  return {.nonce = nonce.data(),
          .nonce_bytes = nonce.size(),
          .aad = aad.data(),
          .aad_bytes = aad.size(),
          .in = in.data(),
          .out = out.data(),
          .bytes = in.size(),
          .tag = nullptr,
          .expected_tag = nullptr,
          .tag_bytes = 0};
}
[[nodiscard]] inline GcmMessage message_of(const GcmText& text) noexcept {
  GcmMessage message = message_of(text.nonce, text.aad, text.in, text.out);
  message.tag = text.tag.data();
  message.expected_tag = text.expected_tag.data();
  message.tag_bytes = text.expected_tag.size();
  return message;
}

// Throws for the two checks below, which are inline because short messages pass them as well.
[[noreturn, gnu::cold]] void refuse_gcm_sizes(std::uint64_t bytes);
// Throws InvalidArgument if GCM cannot encrypt `bytes` bytes under one nonce (SP 800-38D section
// 5.2.1.1): the counter would repeat, and with it the key stream.
inline void check_gcm_text(std::uint64_t bytes) {
  if (bytes > gcm_max_text_bytes) refuse_gcm_sizes(bytes);
}
// Like check_gcm_text(), and throws if there cannot be `aad_bytes` bytes of associated data.
inline void check_gcm_sizes(std::uint64_t aad_bytes, std::uint64_t bytes) {
  if (bytes > gcm_max_text_bytes || aad_bytes > gcm_max_aad_bytes) refuse_gcm_sizes(bytes);
}
// Throws InvalidArgument for a message that Gcm cannot encrypt or decrypt.
void check_text(Direction direction, const GcmText& text);
// Throws InvalidArgument unless `bytes` bytes are whole blocks. `clause`: the mode, and what says
// so.
void check_whole_blocks(std::uint64_t bytes, const char* clause);

// Throws InvalidArgument if XTS has no data units of `unit_bytes` bytes. 0 is allowed: each message
// is one.
void check_xts_unit(std::uint64_t unit_bytes);

[[nodiscard]] inline std::size_t text_bytes(Direction direction,
                                            const SegmentCipher::Segment& segment) noexcept {
  return direction == Direction::encrypt ? segment.in.size() : segment.out.size();
}

// The nonce of a segment for an index that SegmentNonces has: 12 bytes, then zeros, as two words in
// the order of memory.
inline std::array<std::uint64_t, 2> nonce_words(const SegmentNonces& nonces, std::uint64_t index,
                                                bool last) noexcept {
  std::array<std::uint64_t, 2> words;
  set_nonce_words(words.data(), nonces.base.data(), nonces.kind == SegmentNonces::Kind::counted,
                  index, last);
  return words;
}

// Describes a segment as a whole message. Writes each field by itself: a copy of the whole would
// have to wait until it has been stored.
inline void set_message(GcmMessage& message, Direction direction,
                        const std::array<std::uint64_t, 2>& nonce,
                        const SegmentCipher::Segment& segment) noexcept {
  const std::size_t bytes = text_bytes(direction, segment);
  message.nonce = reinterpret_cast<const std::uint8_t*>(nonce.data());
  message.nonce_bytes = 12;
  message.aad = nullptr;
  message.aad_bytes = 0;
  message.in = segment.in.data();
  message.out = segment.out.data();
  message.bytes = bytes;
  if (direction == Direction::encrypt) {
    message.tag = segment.out.data() + bytes;
  } else {
    message.expected_tag = segment.in.data() + bytes;
    message.tag_bytes = segment_tag_bytes;
  }
}

// Notes whether a message is intact. Zeroises the plaintext of one that is not.
inline void finish(Direction direction, GcmText& text, bool intact) noexcept {
  if (direction == Direction::encrypt) return;
  text.intact = intact;
  if (!intact) secure_zero(text.out.data(), text.out.size());
}

// Notes that a segment is done. Zeroises the plaintext if its tag does not match.
inline void finish(Direction direction, SegmentCipher::Segment& segment, bool intact) noexcept {
  if (direction == Direction::decrypt) {
    segment.intact = intact;
    if (!intact) secure_zero(segment.out.data(), segment.out.size());
  }
  segment.done = true;
}

// Seals or opens one segment as if it were a whole message.
inline void crypt_one(const GcmCipher& cipher, Direction direction, const SegmentNonces& nonces,
                      SegmentCipher::Segment& segment) {
  const auto nonce = nonce_words(nonces, segment.index, segment.last);
  GcmMessage message;
  set_message(message, direction, nonce, segment);
  bool intact = true;
  if (direction == Direction::encrypt) {
    cipher.seal(message);
  } else {
    intact = cipher.open(message);
  }
  finish(direction, segment, intact);
}

// Both seal or open segments that are not done, each with its own cipher, and set Segment::done of
// each segment that is finished, even if they throw later.
//
// Processes segments whose ciphers have keys on GPUs and which are short enough to share a launch.
// Skips all others, and those for which the device lacks memory for many keys or whose launch
// failed, if the CPU takes over from it. Throws any other error of the devices.
void crypt_on_gpus(Direction direction, std::span<CipherSegment> segments);
// Processes all segments. The CPU's kernels process several short ones at once.
void crypt_on_cpu(Direction direction, std::span<CipherSegment> segments);

}  // namespace paraes::detail
