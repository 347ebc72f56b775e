// Short GCM messages that a kernel processes together.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>

#include "src/cipher/cipher.hpp"

namespace paraes::detail {

// Fetches what a message of `bytes` bytes reads of a key. Nothing of the key is read, so that
// `key` may be where there is none.
inline void prefetch(const ShortGcmKey& key, std::size_t bytes) {
  constexpr std::size_t line = 64;
  const auto fetch = [](const std::uint8_t* from, const std::uint8_t* to) {
    for (; from < to; from += line) __builtin_prefetch(from);
  };
  fetch(key.encrypt[0], key.powers[0]);
  const std::size_t blocks = bytes / 16 + 2;
  const std::size_t used = std::min<std::size_t>(blocks, ShortGcmKey::max_powers);
  fetch(key.powers_end() - 16 * used, key.powers_end());
}

// Short messages, of which a kernel processes several in one call. Message: SegmentCipher::Segment
// or GcmText. What fills the list counts in a register, and calls nothing: otherwise it would take
// half as long as the encryption of 16 bytes.
template <class Message>
class JobList : NonCopyable {
 public:
  // Twice as many as any kernel interleaves. More would need a larger part of the first cache.
  static constexpr std::size_t most = 16;

  explicit JobList(Direction direction) : direction_(direction) {}

  // Processes messages under one key of this kernel, except segments that are done. Segments need
  // their nonces.
  template <class... Nonces>
  void crypt(const Kernel& kernel, const ShortGcmKey& key, std::span<Message> messages,
             const Nonces&... nonces) {
    while (!messages.empty()) {
      const std::size_t taken = std::min(most, messages.size());
      std::size_t count = 0;
      for (Message& message : messages.first(taken)) {
        if (!is_done(message)) set(count++, key, nonces..., message);
      }
      run(kernel, count);
      messages = messages.subspan(taken);
    }
  }

  void set(std::size_t i, const ShortGcmKey& key, const SegmentNonces& nonces,
           SegmentCipher::Segment& segment) {
    const std::size_t bytes = text_bytes(direction_, segment);
    jobs_[i].nonce = nonce_words(nonces, segment.index, segment.last);
    set(i, key, segment, bytes, segment.out.data() + bytes, segment.in.data() + bytes);
  }

  // text: one that fits() takes.
  void set(std::size_t i, const ShortGcmKey& key, GcmText& text) {
    jobs_[i].nonce = {};
    std::memcpy(jobs_[i].nonce.data(), text.nonce.data(), 12);
    set(i, key, text, text.in.size(), text.tag.data(), text.expected_tag.data());
  }

  // Whether a message is one of those that are interleaved: see GcmJob.
  [[nodiscard]] bool fits(const GcmText& text) const noexcept {
    return text.nonce.size() == 12 && text.aad.empty() &&
           (direction_ == Direction::encrypt || text.expected_tag.size() == segment_tag_bytes);
  }

  // Processes the first `count` messages, whose keys are of this kernel.
  void run(const Kernel& kernel, std::size_t count) {
    if (count == 0) return;
    const bool encrypts = direction_ == Direction::encrypt;
    (encrypts ? kernel.gcm_seal_many : kernel.gcm_open_many)(jobs_, count);
    for (std::size_t i = 0; i < count; ++i) {
      finish(direction_, *messages_[i], encrypts || jobs_[i].intact);
    }
  }

 private:
  static bool is_done(const SegmentCipher::Segment& segment) { return segment.done; }
  static bool is_done(const GcmText&) { return false; }

  void set(std::size_t i, const ShortGcmKey& key, Message& message, std::size_t bytes,
           std::uint8_t* tag, const std::uint8_t* expected_tag) {
    messages_[i] = &message;
    GcmJob& job = jobs_[i];
    if (i == prepared_) prepare_next();
    job.key = &key;
    job.message.in = message.in.data();
    job.message.out = message.out.data();
    job.message.bytes = bytes;
    if (direction_ == Direction::encrypt) {
      job.message.tag = tag;
    } else {
      job.message.expected_tag = expected_tag;
    }
  }

  // Sets what is the same for all messages: all at once would delay a list of one.
  void prepare_next() {
    GcmJob& job = jobs_[prepared_++];
    job.message.nonce = reinterpret_cast<const std::uint8_t*>(job.nonce.data());
    job.message.nonce_bytes = 12;
    job.message.aad = nullptr;
    job.message.aad_bytes = 0;
    job.message.tag_bytes = segment_tag_bytes;
  }

  Direction direction_;
  std::size_t prepared_ = 0;  // so many jobs
  GcmJob jobs_[most];
  Message* messages_[most];
};

}  // namespace paraes::detail
