#include "tests/support/gcm_stream.hpp"

#include <algorithm>
#include <cstring>

#include "paraes/secret.hpp"
#include "src/core/counter.hpp"

namespace paraes::support {

GcmStream::GcmStream(const GcmKey& key, Direction direction, Bytes nonce)
    : key_(key),
      direction_(direction),
      j0_(gcm_initial_counter(key, nonce.data(), nonce.size())),
      counter_(j0_) {
  add_be32(counter_.block, 1);
}

GcmStream::~GcmStream() {
  secure_zero(stream_, sizeof stream_);
  secure_zero(pending_, sizeof pending_);
}

void GcmStream::finish_hash_block() {
  key_.cipher.kernel.ghash(key_.hash, state_, pending_, 1);
  std::memset(pending_, 0, 16);
}

void GcmStream::aad(Bytes data) {
  while (!data.empty()) {
    const std::size_t at = aad_bytes_ % 16;
    std::size_t n = data.size() / 16 * 16;
    if (at == 0 && n != 0) {
      key_.cipher.kernel.ghash(key_.hash, state_, data.data(), n / 16);
    } else {
      n = std::min(data.size(), 16 - at);
      std::memcpy(pending_ + at, data.data(), n);
      if (at + n == 16) finish_hash_block();
    }
    aad_bytes_ += n;
    data = data.subspan(n);
  }
}

void GcmStream::update(Bytes in, MutableBytes out) {
  if (text_bytes_ == 0 && aad_bytes_ % 16 != 0 && !in.empty()) finish_hash_block();
  const std::uint8_t* from = in.data();
  std::uint8_t* to = out.data();
  std::size_t bytes = in.size();
  while (bytes != 0) {
    const std::size_t at = text_bytes_ % 16;
    std::size_t n = bytes / 16 * 16;
    if (at == 0 && n != 0) {
      gcm_range(key_, direction_, counter_, state_, from, to, n);
    } else {
      if (at == 0) {
        std::memset(stream_, 0, 16);
        std::uint8_t running[16];
        std::memcpy(running, counter_.block, 16);
        key_.cipher.kernel.ctr(key_.cipher.schedule, running, stream_, stream_, 1);
        add_be32(counter_.block, 1);
      }
      n = std::min(bytes, 16 - at);
      for (std::size_t i = 0; i < n; ++i) {
        const std::uint8_t byte = from[i];
        to[i] = static_cast<std::uint8_t>(byte ^ stream_[at + i]);
        pending_[at + i] = direction_ == Direction::encrypt ? to[i] : byte;
      }
      if (at + n == 16) finish_hash_block();
    }
    text_bytes_ += n;
    from += n;
    to += n;
    bytes -= n;
  }
}

void GcmStream::tag(std::uint8_t tag[16]) {
  if (text_bytes_ % 16 != 0 || (text_bytes_ == 0 && aad_bytes_ % 16 != 0)) finish_hash_block();
  gcm_tag(key_, j0_, state_, aad_bytes_, text_bytes_, tag);
}

}  // namespace paraes::support
