// Short GCM messages that a kernel processes together.
#pragma once

#include <algorithm>
#include <utility>

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

// Short segments and messages, of which a kernel processes several in one call.
class JobList : NonCopyable {
 public:
  explicit JobList(Direction direction) : direction_(direction) {}

  void add(const ShortGcmKey& key, const SegmentNonces& nonces, SegmentCipher::Segment& segment) {
    GcmJob& job = add(key, {&segment, nullptr});
    job.nonce = nonce_words(nonces, segment.index, segment.last);
    set_message(job.message, direction_, job.nonce, segment);
  }

  // text: one that fits() takes.
  void add(const ShortGcmKey& key, GcmText& text) {
    GcmJob& job = add(key, {nullptr, &text});
    job.nonce = {};
    std::copy(text.nonce.begin(), text.nonce.end(),
              reinterpret_cast<std::uint8_t*>(job.nonce.data()));
    job.message = message_of(text);
    job.message.nonce = reinterpret_cast<const std::uint8_t*>(job.nonce.data());
  }

  // Whether a message is one of those that are interleaved: see GcmJob.
  [[nodiscard]] bool fits(const GcmText& text) const noexcept {
    return text.nonce.size() == 12 && text.aad.empty() &&
           (direction_ == Direction::encrypt || text.expected_tag.size() == segment_tag_bytes);
  }

  // Processes the messages in the list and empties it.
  void run() {
    const std::size_t count = std::exchange(count_, 0);
    if (count == 0) return;
    const bool encrypts = direction_ == Direction::encrypt;
    const auto many = encrypts ? kernel_->gcm_seal_many : kernel_->gcm_open_many;
    many(jobs_, count);
    for (std::size_t i = 0; i < count; ++i) {
      finish(results_[i], encrypts || jobs_[i].intact);
    }
  }

 private:
  static constexpr std::size_t most = 32;

  // The owner of the job: one of the two.
  struct Result {
    SegmentCipher::Segment* segment;
    GcmText* text;
  };

  GcmJob& add(const ShortGcmKey& key, Result result) {
    if (count_ == most || (count_ != 0 && key.kernel != kernel_)) run();
    kernel_ = key.kernel;
    results_[count_] = result;
    GcmJob& job = jobs_[count_++];
    job.key = &key;
    return job;
  }

  void finish(const Result& result, bool intact) const noexcept {
    if (result.segment != nullptr) {
      detail::finish(direction_, *result.segment, intact);
    } else if (direction_ == Direction::decrypt) {
      finish_decryption(*result.text, intact);
    }
  }

  Direction direction_;
  const Kernel* kernel_ = nullptr;
  std::size_t count_ = 0;
  GcmJob jobs_[most];
  Result results_[most];
};

}  // namespace paraes::detail
