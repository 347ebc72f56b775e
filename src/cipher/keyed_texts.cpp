// Many GCM messages, each with a key that nothing else uses.

#include <algorithm>
#include <memory>
#include <vector>

#include "paraes/ciphers.hpp"
#include "paraes/error.hpp"
#include "src/cipher/cpu.hpp"
#include "src/cipher/job_list.hpp"
#include "src/cipher/open.hpp"
#include "src/cipher/parallel_modes.hpp"
#include "src/core/executor.hpp"

namespace paraes {
namespace {

using detail::GcmCipher;
using detail::JobList;

// Making the tables of a GcmKey takes longer than what they save in a text of this size.
constexpr std::size_t max_short_text_bytes = 16384;

// Whether an expanded ShortGcmKey is all that a message needs.
bool is_short(const Kernel& kernel, const GcmText& text) noexcept {
  return kernel.gcm_expand != nullptr && text.in.size() <= max_short_text_bytes &&
         text.nonce.size() == 12 && text.aad.size() <= max_short_text_bytes;
}

// For how many blocks of a message there must be powers of H: those of the text or of the
// associated data, and the lengths.
unsigned powers_for(const GcmText& text) noexcept {
  const std::size_t blocks = std::max(text.in.size(), text.aad.size()) / 16 + 2;
  return static_cast<unsigned>(std::min<std::size_t>(blocks, ShortGcmKey::max_powers));
}

// Room for keys that are expanded side by side, in locked memory, which is wiped with it.
class KeyGroup {
 public:
  static constexpr std::size_t most = 16;

  // For a range of that many messages.
  explicit KeyGroup(std::uint64_t messages) {
    if (messages == 1) {
      one_ = std::make_unique<Keys<1>>();
    } else {
      many_ = std::make_unique<Keys<most>>();
    }
  }
  [[nodiscard]] ShortGcmKey* keys() const noexcept { return one_ ? one_->keys : many_->keys; }

 private:
  template <std::size_t N>
  struct Keys : InLockedMemory {
    ShortGcmKey keys[N];
  };
  std::unique_ptr<Keys<1>> one_;
  std::unique_ptr<Keys<most>> many_;
};

// Processes the short messages of a range on one thread.
class KeyedRange {
 public:
  KeyedRange(const Kernel& kernel, Direction direction, ShortGcmKey* keys)
      : kernel_(kernel), direction_(direction), jobs_(direction), keys_(keys) {}

  void run(std::span<KeyedGcmText> texts) {
    while (!texts.empty()) {
      const std::size_t count = group_of(texts);
      if (count != 0) group(texts.first(count));
      texts = texts.subspan(std::max<std::size_t>(count, 1));
    }
  }

 private:
  // How many of the first messages are short and have keys of one size.
  [[nodiscard]] std::size_t group_of(std::span<const KeyedGcmText> texts) const noexcept {
    std::size_t count = 0;
    while (count < std::min(texts.size(), KeyGroup::most) && is_short(kernel_, texts[count].text) &&
           texts[count].key.size() == texts.front().key.size()) {
      ++count;
    }
    return count;
  }

  void group(std::span<KeyedGcmText> texts) {
    const std::uint8_t* bytes[KeyGroup::most];
    unsigned powers = 0;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      bytes[i] = texts[i].key.data();
      powers = std::max(powers, powers_for(texts[i].text));
      keys_[i].kernel = &kernel_;
    }
    const auto key_bytes = static_cast<unsigned>(texts.front().key.size());
    kernel_.gcm_expand(keys_, bytes, key_bytes, texts.size(), powers);
    std::size_t count = 0;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (jobs_.fits(texts[i].text)) {
        jobs_.set(count++, keys_[i], texts[i].text);
      } else {
        one(keys_[i], texts[i].text);
      }
    }
    jobs_.run(kernel_, count);
  }

  void one(const ShortGcmKey& key, GcmText& text) const {
    const GcmMessage message = detail::message_of(text);
    if (direction_ == Direction::encrypt) {
      kernel_.gcm_seal_short(key, message);
    } else {
      detail::finish(direction_, text, kernel_.gcm_open_short(key, message));
    }
  }

  const Kernel& kernel_;
  Direction direction_;
  JobList<GcmText> jobs_;
  ShortGcmKey* keys_;
};

// A message that is not short, with a cipher of its own.
struct LongText {
  GcmText* text;
  std::shared_ptr<const GcmCipher> cipher;
};

// Expanding a key takes as long as this many bytes of text.
constexpr std::uint64_t key_cost_bytes = 1024;

struct WipeStackAtEnd {
  ~WipeStackAtEnd() { wipe_stack(); }
};

// Allocates all memory before it writes anything: a message that is encrypted in place must not be
// lost because memory lacks for another one.
void crypt_keyed(Direction direction, std::span<KeyedGcmText> texts, const Execution& execution) {
  const Kernel& kernel = detail::cpu_kernel(execution);
  const Executor executor(execution.threads);
  for (KeyedGcmText& keyed : texts) keyed.text.intact = false;
  std::uint64_t bytes = 0;
  for (const KeyedGcmText& keyed : texts) {
    detail::check_aes_key(keyed.key);
    detail::check_text(direction, keyed.text);
    bytes += std::min(keyed.text.in.size(), max_short_text_bytes) + key_cost_bytes;
  }
  const WipeStackAtEnd wipe;
  std::vector<LongText> long_texts;
  for (KeyedGcmText& keyed : texts) {
    if (is_short(kernel, keyed.text)) continue;
    long_texts.push_back(
        {&keyed.text, detail::make_cpu_gcm(kernel, keyed.key, executor, {}, detail::Tables::now)});
  }
  const std::size_t count = texts.size();
  const std::uint64_t least = bytes == 0 ? 1 : 1 + min_range_bytes * count / bytes;
  std::vector<KeyGroup> groups;
  if (count != long_texts.size()) {
    const unsigned ranges = executor.ranges_for(count, least);
    for (unsigned r = 0; r < ranges; ++r) groups.emplace_back(count);
    executor.run(count, least, [&](unsigned r, std::uint64_t begin, std::uint64_t end) {
      KeyedRange(kernel, direction, groups[r].keys())
          .run(texts.subspan(static_cast<std::size_t>(begin),
                             static_cast<std::size_t>(end - begin)));
    });
  }
  for (const LongText& one : long_texts) one.cipher->crypt_texts(direction, {one.text, 1});
}

}  // namespace

void Gcm::encrypt_keyed(std::span<KeyedGcmText> texts, const Execution& execution) {
  crypt_keyed(Direction::encrypt, texts, execution);
}

void Gcm::decrypt_keyed(std::span<KeyedGcmText> texts, const Execution& execution) {
  crypt_keyed(Direction::decrypt, texts, execution);
}

}  // namespace paraes
