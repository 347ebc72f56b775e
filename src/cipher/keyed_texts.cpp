// Many GCM messages, each with a key that nothing else uses.

#include <algorithm>
#include <memory>
#include <string>

#include "paraes/ciphers.hpp"
#include "paraes/error.hpp"
#include "src/cipher/cpu.hpp"
#include "src/cipher/job_list.hpp"
#include "src/cipher/open.hpp"
#include "src/cipher/parallel_modes.hpp"
#include "src/core/executor.hpp"
#include "src/kernels/registry.hpp"

namespace paraes {
namespace {

using detail::JobList;

// Keys that are expanded side by side. They lie in locked memory, and are wiped with the object.
struct KeyGroup : InLockedMemory {
  static constexpr std::size_t most = 16;
  ShortGcmKey keys[most];
};

// Making the tables of a GcmKey takes longer than what they save in a text of this size.
constexpr std::size_t max_short_text_bytes = 16384;

// Whether an expanded ShortGcmKey is all that a message needs.
bool is_short(const KeyedGcmText& keyed) noexcept {
  return keyed.text.in.size() <= max_short_text_bytes && keyed.text.nonce.size() == 12 &&
         keyed.text.aad.size() <= max_short_text_bytes;
}

// The powers of H for the text, or for associated data if there is any, and the lengths.
unsigned powers_for(const GcmText& text) noexcept {
  const std::size_t blocks = std::max(text.in.size(), text.aad.size()) / 16 + 2;
  return static_cast<unsigned>(std::min<std::size_t>(blocks, ShortGcmKey::max_powers));
}

// Processes a range of the messages on one thread.
class KeyedRange {
 public:
  KeyedRange(const Kernel& kernel, Direction direction)
      : kernel_(kernel), direction_(direction), jobs_(direction) {}

  void run(std::span<KeyedGcmText> texts) {
    while (!texts.empty()) {
      const std::size_t count = group_of(texts);
      if (count == 0) {
        alone(texts.front());
        texts = texts.subspan(1);
      } else {
        group(texts.first(count));
        texts = texts.subspan(count);
      }
    }
  }

 private:
  // How many of the first messages are short and have keys of one size.
  [[nodiscard]] std::size_t group_of(std::span<const KeyedGcmText> texts) const noexcept {
    if (kernel_.gcm_expand == nullptr) return 0;
    std::size_t count = 0;
    while (count < std::min(texts.size(), KeyGroup::most) && is_short(texts[count]) &&
           texts[count].key.size() == texts.front().key.size()) {
      ++count;
    }
    return count;
  }

  void group(std::span<KeyedGcmText> texts) {
    if (!keys_) keys_ = std::make_unique<KeyGroup>();
    const std::uint8_t* bytes[KeyGroup::most];
    unsigned powers = 0;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      bytes[i] = texts[i].key.data();
      powers = std::max(powers, powers_for(texts[i].text));
      keys_->keys[i].kernel = &kernel_;
    }
    const auto key_bytes = static_cast<unsigned>(texts.front().key.size());
    kernel_.gcm_expand(keys_->keys, bytes, key_bytes, texts.size(), powers);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (jobs_.fits(texts[i].text)) {
        jobs_.add(keys_->keys[i], texts[i].text);
      } else {
        one(keys_->keys[i], texts[i].text);
      }
    }
    jobs_.run();
  }

  void one(const ShortGcmKey& key, GcmText& text) const {
    const GcmMessage message = detail::message_of(text);
    if (direction_ == Direction::encrypt) {
      kernel_.gcm_seal_short(key, message);
    } else {
      detail::finish_decryption(text, kernel_.gcm_open_short(key, message));
    }
  }

  void alone(KeyedGcmText& keyed) const {
    detail::make_cpu_gcm(kernel_, keyed.key, Executor(1), {})
        ->crypt_texts(direction_, {&keyed.text, 1});
  }

  const Kernel& kernel_;
  Direction direction_;
  JobList jobs_;
  std::unique_ptr<KeyGroup> keys_;
};

// What expanding a key costs, in bytes of text.
constexpr std::uint64_t key_cost_bytes = 1024;

void crypt_keyed(Direction direction, std::span<KeyedGcmText> texts, const Execution& execution) {
  const Kernel& kernel = detail::cpu_kernel(execution);
  const Executor executor(execution.threads);
  std::uint64_t bytes = 0;
  for (const KeyedGcmText& keyed : texts) {
    detail::check_aes_key(keyed.key);
    detail::check_text(direction, keyed.text);
    bytes += keyed.text.in.size() + key_cost_bytes;
  }
  const std::size_t count = texts.size();
  const std::uint64_t least = bytes == 0 ? 1 : 1 + min_range_bytes * count / bytes;
  executor.run(count, least, [&](unsigned, std::uint64_t begin, std::uint64_t end) {
    KeyedRange(kernel, direction)
        .run(texts.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)));
  });
  wipe_stack();
}

}  // namespace

void Gcm::encrypt(std::span<KeyedGcmText> texts, const Execution& execution) {
  crypt_keyed(Direction::encrypt, texts, execution);
}

void Gcm::decrypt(std::span<KeyedGcmText> texts, const Execution& execution) {
  crypt_keyed(Direction::decrypt, texts, execution);
}

}  // namespace paraes
