// SegmentCipher. It checks segments once, and then calls the cipher of the device.

#include "paraes/segments.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "paraes/error.hpp"
#include "src/cipher/cipher.hpp"
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

// Throws unless `part` is in `memory`, a multiple of 16 bytes behind `first`.
void check_place(Bytes memory, Bytes first, Bytes part) {
  const auto offset_of = [](const std::uint8_t* from, const std::uint8_t* to) {
    return reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(from);
  };
  const std::uintptr_t at = offset_of(memory.data(), part.data());
  const std::uintptr_t behind = offset_of(first.data(), part.data());
  if (at > memory.size() || part.size() > memory.size() - at) {
    throw InvalidArgument("a segment is not in the memory of the stream");
  }
  if (behind > memory.size() || behind % 16 != 0) {
    throw InvalidArgument("a segment does not begin a multiple of 16 bytes behind the first one");
  }
}

}  // namespace

std::array<std::uint8_t, 12> SegmentNonces::nonce(std::uint64_t index, bool last) const {
  check_index(*this, index);
  std::array<std::uint8_t, 12> nonce;
  std::memcpy(nonce.data(), detail::nonce_words(*this, index, last).data(), nonce.size());
  return nonce;
}

SegmentCipher::SegmentCipher(Bytes key, Bytes base_nonce, Nonces nonces, const Execution& execution)
    : cipher_(detail::open_gcm_cipher(key, execution, detail::Pairs::accept)) {
  if (base_nonce.size() != nonces_.base.size()) {
    throw InvalidArgument("the base nonce of a message has 12 bytes, not " +
                          std::to_string(base_nonce.size()));
  }
  std::copy(base_nonce.begin(), base_nonce.end(), nonces_.base.begin());
  nonces_.kind = nonces;
}

const detail::HostCipher& SegmentCipher::on_device() const noexcept { return *cipher_; }

void SegmentCipher::crypt(Direction direction, std::span<Segment> segments) const {
  check_owner(direction);
  for (Segment& segment : segments) check(direction, nonces_, segment);
  cipher_->crypt(direction, nonces_, segments);
}

void SegmentCipher::crypt(Direction direction, std::span<CipherSegment> segments) {
  for (CipherSegment& entry : segments) {
    entry.cipher->check_owner(direction);
    check(direction, entry.cipher->nonces_, entry.segment);
  }
  detail::crypt_on_gpus(direction, segments);
  detail::crypt_on_cpu(direction, segments);
}

std::unique_ptr<SegmentStaging> SegmentCipher::stage(std::size_t segments,
                                                     std::uint64_t segment_bytes,
                                                     std::uint64_t bytes_left) const {
  auto staged = cipher_->stage(segments, segment_bytes, bytes_left);
  if (!staged) return nullptr;
  return std::unique_ptr<SegmentStaging>(new SegmentStaging(*this, std::move(staged), segments));
}

SegmentStaging::SegmentStaging(const SegmentCipher& cipher,
                               std::unique_ptr<detail::StagedSegments> staged,
                               std::size_t most_segments)
    : cipher_(cipher), staged_(std::move(staged)), most_segments_(most_segments) {}

SegmentStaging::~SegmentStaging() = default;

MutableBytes SegmentStaging::in() const noexcept { return staged_->in(); }

MutableBytes SegmentStaging::out() const noexcept { return staged_->out(); }

void SegmentStaging::crypt(Direction direction, std::span<SegmentCipher::Segment> segments) {
  if (segments.size() > most_segments_) {
    throw InvalidArgument("the memory of the stream was asked for with " +
                          std::to_string(most_segments_) + " segments, not " +
                          std::to_string(segments.size()));
  }
  cipher_.check_owner(direction);
  for (SegmentCipher::Segment& segment : segments) {
    check(direction, cipher_.nonces(), segment);
    check_place(in(), segments.front().in, segment.in);
    check_place(out(), segments.front().out, segment.out);
  }
  staged_->crypt(direction, cipher_.nonces(), segments);
}

std::size_t SegmentCipher::launch_bytes() const noexcept { return cipher_->launch_bytes(); }

unsigned SegmentCipher::launch_threads() const noexcept { return cipher_->launch_threads(); }

unsigned SegmentCipher::cpu_threads() const noexcept { return cipher_->cpu_threads(); }

}  // namespace paraes
