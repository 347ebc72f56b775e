// SegmentCipher. It checks segments once, and then calls the cipher of the device.

#include "paraes/segments.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "paraes/error.hpp"
#include "src/cipher/cipher.hpp"
#include "src/cipher/cpu.hpp"
#include "src/cipher/gpu_batch.hpp"
#include "src/cipher/open.hpp"

namespace paraes {
namespace {

[[noreturn, gnu::cold, gnu::noinline]] void refuse_index(std::uint64_t index) {
  throw InvalidArgument(
      "the nonces of a Tink message have room for 2^32 segments: there is no segment " +
      std::to_string(index));
}

void check_index(const SegmentNonces& nonces, std::uint64_t index) {
  if (nonces.kind == SegmentNonces::Kind::prefixed && index > UINT32_MAX) refuse_index(index);
}

void check(Direction direction, const SegmentNonces& nonces, SegmentCipher::Segment& segment) {
  check_index(nonces, segment.index);
  const std::size_t plain = detail::text_bytes(direction, segment);
  detail::check_gcm_text(plain);
  const std::size_t sealed =
      direction == Direction::encrypt ? segment.out.size() : segment.in.size();
  if (sealed != plain + segment_tag_bytes) {
    throw InvalidArgument("a sealed segment is 16 bytes longer than its plaintext");
  }
  segment.done = false;
  segment.intact = false;
}

}  // namespace

std::array<std::uint8_t, 12> SegmentNonces::nonce(std::uint64_t index, bool last) const {
  check_index(*this, index);
  std::array<std::uint8_t, 12> nonce;
  std::memcpy(nonce.data(), detail::nonce_words(*this, index, last).data(), nonce.size());
  return nonce;
}

SegmentCipher::SegmentCipher(Bytes key, Bytes base_nonce, Nonces nonces, const Execution& execution)
    : cipher_(detail::open_gcm_cipher(key, execution)) {
  if (base_nonce.size() != nonces_.base.size()) {
    throw InvalidArgument("the base nonce of a message has 12 bytes, not " +
                          std::to_string(base_nonce.size()));
  }
  std::copy(base_nonce.begin(), base_nonce.end(), nonces_.base.begin());
  nonces_.kind = nonces;
}

const detail::DeviceCipher& SegmentCipher::on_device() const noexcept { return *cipher_; }

void SegmentCipher::crypt(Direction direction, std::span<Segment> segments) const {
  for (Segment& segment : segments) check(direction, nonces_, segment);
  cipher_->crypt(direction, nonces_, segments);
}

void SegmentCipher::crypt(Direction direction, std::span<CipherSegment> segments) {
  for (CipherSegment& entry : segments) check(direction, entry.cipher->nonces_, entry.segment);
  detail::crypt_on_gpus(direction, segments);
  detail::crypt_on_cpu(direction, segments);
}

std::size_t SegmentCipher::launch_bytes() const noexcept { return cipher_->launch_bytes(); }

unsigned SegmentCipher::launch_threads() const noexcept { return cipher_->launch_threads(); }

}  // namespace paraes
