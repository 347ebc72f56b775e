// A key that is ready to work on a device: one interface for each kind of key, which the CPU and
// GPUs implement. open.hpp makes them. Nothing above asks which one it has.
//
// Common to all operations:
//   checks     arguments are checked by the public classes (ciphers.cpp, segments.cpp);
//   aliasing   out is in, or apart from it;
//   threads    an object serves any number of callers at once;
//   errors     GPUs throw DeviceError; the `openssl` kernel throws Error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "paraes/ciphers.hpp"
#include "paraes/error.hpp"
#include "paraes/segments.hpp"

namespace paraes::detail {

class DeviceCipher {
 public:
  DeviceCipher() = default;
  virtual ~DeviceCipher() = default;
  DeviceCipher(const DeviceCipher&) = delete;
  DeviceCipher& operator=(const DeviceCipher&) = delete;

  [[nodiscard]] virtual std::string_view kernel() const noexcept = 0;
  [[nodiscard]] virtual std::string device() const = 0;
  [[nodiscard]] virtual int threads() const noexcept = 0;
  // Why the CPU works in place of a GPU; empty if it does not.
  [[nodiscard]] virtual std::string fallback() const { return {}; }
  // Busy time of GPUs since the last call.
  [[nodiscard]] virtual PhaseTimes take_times() const noexcept { return {}; }
};

// ECB, CBC and CTR (SP 800-38A).
class BlockCipher : public DeviceCipher {
 public:
  // bytes: a multiple of 16, as in CBC.
  virtual void ecb(Direction direction, const std::uint8_t* in, std::uint8_t* out,
                   std::size_t bytes) const = 0;
  // `chain` is the ciphertext block before `in`, and is left as the last one.
  virtual void cbc_encrypt(std::uint8_t chain[16], const std::uint8_t* in, std::uint8_t* out,
                           std::size_t bytes) const = 0;
  virtual void cbc_decrypt(std::uint8_t chain[16], const std::uint8_t* in, std::uint8_t* out,
                           std::size_t bytes) const = 0;
  // Any number of bytes, from byte `offset` of the stream that starts with the counter `initial`.
  virtual void ctr(const std::uint8_t initial[16], std::uint64_t offset, const std::uint8_t* in,
                   std::uint8_t* out, std::size_t bytes) const = 0;
};

// SP 800-38E (IEEE 1619).
class XtsCipher : public DeviceCipher {
 public:
  // At least 16 bytes, as consecutive data units from number `first_unit` on; unit_bytes = 0: one.
  virtual void xts(Direction direction, const std::uint8_t first_unit[16], std::size_t unit_bytes,
                   const std::uint8_t* in, std::uint8_t* out, std::size_t bytes) const = 0;
};

class GpuKey;

// SP 800-38D.
class GcmCipher : public DeviceCipher {
 public:
  // Section 7.1; the tag has 16 bytes.
  virtual void seal(Bytes nonce, Bytes aad, Bytes in, MutableBytes out,
                    std::uint8_t* tag) const = 0;
  // Section 7.2. False if the tag does not match: `out` is all zero then.
  [[nodiscard]] virtual bool open(Bytes nonce, Bytes aad, Bytes in, MutableBytes out,
                                  Bytes tag) const = 0;
  // Seals or opens those segments of one message that are not done: see SegmentCipher. Sets
  // Segment::done of each that it has done, also before it throws.
  virtual void crypt(Direction direction, const SegmentNonces& nonces,
                     std::span<SegmentCipher::Segment> segments) const = 0;

  // Bytes of text that one launch should have, and how many threads should make launches at once.
  // Zero on a CPU, which works on any number.
  [[nodiscard]] virtual std::size_t launch_bytes() const noexcept { return 0; }
  [[nodiscard]] virtual unsigned launch_threads() const noexcept { return 0; }

  // The key on GPUs, under which segments may share a launch with those of other keys; nullptr if
  // there is none.
  [[nodiscard]] virtual const GpuKey* gpu_key() const noexcept { return nullptr; }
  // Whether the CPU takes over, now that such a launch has failed with `error`.
  [[nodiscard]] virtual bool falls_back(const Error&) const { return false; }
};

[[nodiscard]] inline std::size_t text_bytes(Direction direction,
                                            const SegmentCipher::Segment& segment) noexcept {
  return direction == Direction::encrypt ? segment.in.size() : segment.out.size();
}

// Seals or opens one segment as a message.
inline void crypt_one(const GcmCipher& cipher, Direction direction, const SegmentNonces& nonces,
                      SegmentCipher::Segment& segment) {
  const auto nonce = nonces.nonce(segment.index, segment.last);
  const std::size_t bytes = text_bytes(direction, segment);
  if (direction == Direction::encrypt) {
    cipher.seal(nonce, {}, segment.in, segment.out.first(bytes), segment.out.data() + bytes);
  } else {
    segment.intact = cipher.open(nonce, {}, segment.in.first(bytes), segment.out,
                                 segment.in.last(segment_tag_bytes));
  }
  segment.done = true;
}

}  // namespace paraes::detail
