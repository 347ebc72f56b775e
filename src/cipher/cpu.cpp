#include "src/cipher/cpu.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "src/cipher/job_list.hpp"
#include "src/cipher/parallel_modes.hpp"
#include "src/core/counter.hpp"

namespace paraes::detail {
namespace {

// The part of HostCipher that is the same for all CPU ciphers.
template <class Interface>
class OnCpu : public Interface {
 public:
  OnCpu(const Kernel& kernel, const Executor& executor, std::string fallback)
      : kernel_(kernel), executor_(executor) {
    if (!fallback.empty()) fallback_ = std::make_unique<const std::string>(std::move(fallback));
  }

  [[nodiscard]] std::string_view kernel() const noexcept final { return kernel_.name; }
  [[nodiscard]] std::string device() const final { return "cpu"; }
  [[nodiscard]] int threads() const noexcept final { return executor_.threads(); }
  [[nodiscard]] std::string fallback() const final {
    return fallback_ == nullptr ? std::string() : *fallback_;
  }

 protected:
  const Kernel& kernel_;
  const Executor executor_;

 private:
  std::unique_ptr<const std::string> fallback_;  // nullptr for an empty one
};

class CpuBlock final : public OnCpu<BlockCipher> {
 public:
  CpuBlock(std::unique_ptr<const CipherKey> key, const Executor& executor, std::string fallback)
      : OnCpu(key->kernel, executor, std::move(fallback)), key_(std::move(key)) {}

  void ecb(Direction direction, const std::uint8_t* in, std::uint8_t* out,
           std::size_t bytes) const override {
    parallel_ecb(executor_, *key_, direction, in, out, bytes / block_bytes);
  }
  void cbc_encrypt(std::uint8_t chain[16], const std::uint8_t* in, std::uint8_t* out,
                   std::size_t bytes) const override {
    kernel_.cbc_encrypt(key_->schedule, chain, in, out, bytes / block_bytes);
  }
  void cbc_decrypt(std::uint8_t chain[16], const std::uint8_t* in, std::uint8_t* out,
                   std::size_t bytes) const override {
    parallel_cbc_decrypt(executor_, *key_, chain, in, out, bytes / block_bytes);
  }
  void ctr(const std::uint8_t initial[16], std::uint64_t offset, const std::uint8_t* in,
           std::uint8_t* out, std::size_t bytes) const override {
    parallel_ctr(executor_, *key_, initial, offset, in, out, bytes);
  }

 private:
  std::unique_ptr<const CipherKey> key_;
};

class CpuXts final : public OnCpu<XtsCipher> {
 public:
  CpuXts(std::unique_ptr<const XtsKey> key, const Executor& executor, std::string fallback)
      : OnCpu(key->data.kernel, executor, std::move(fallback)), key_(std::move(key)) {}

  void xts(Direction direction, const std::uint8_t first_unit[16], std::size_t unit_bytes,
           const std::uint8_t* in, std::uint8_t* out, std::size_t bytes) const override {
    parallel_xts(executor_, *key_, direction, first_unit, unit_bytes, in, out, bytes);
  }

 private:
  std::unique_ptr<const XtsKey> key_;
};

// A message takes as long as this many bytes of text, besides its own.
constexpr std::uint64_t message_cost_bytes = 256;

// In locked memory, because the key for short messages is in the object: a pointer to it would be
// one more line to wait for. The tables for longer messages are made when the first of them comes.
class CpuGcm final : public InLockedMemory, public OnCpu<GcmCipher> {
 public:
  CpuGcm(const Kernel& kernel, Bytes key, const Executor& executor, std::string fallback)
      : OnCpu(kernel, executor, std::move(fallback)),
        one_call_bytes_(gcm_one_call_bytes(executor, kernel)) {
    const auto key_bytes = static_cast<unsigned>(key.size());
    if (kernel.gcm_expand == nullptr) {
      full_ = new GcmKey(kernel, key.data(), key_bytes);
      return;
    }
    const std::uint8_t* const bytes = key.data();
    kernel.gcm_expand(&short_, &bytes, key_bytes, 1, ShortGcmKey::max_powers);
    short_.kernel = &kernel;
    short_limit_ = std::min<std::uint64_t>(kernel.max_short_bytes, one_call_bytes_ - 1) + 1;
  }
  ~CpuGcm() override { delete full_.load(); }

  // Fetches what a short message will read, if its cipher is a CpuGcm, without a look at it.
  static void prefetch(Direction direction, const CipherSegment& entry) {
    const auto& cipher = static_cast<const CpuGcm&>(entry.cipher->gcm());
    __builtin_prefetch(&cipher);
    detail::prefetch(cipher.short_, text_bytes(direction, entry.segment));
  }

  void make_tables() const { static_cast<void>(full()); }

  void seal(const GcmMessage& message) const override {
    if (is_short(message)) return kernel_.gcm_seal_short(short_, message);
    const GcmKey& key = full();
    if (is_one_call(message)) return kernel_.gcm_seal(key.cipher.schedule, key.hash, message);
    composed(Direction::encrypt, message, message.tag);
  }

  [[nodiscard]] bool open(const GcmMessage& message) const override {
    if (is_short(message)) return kernel_.gcm_open_short(short_, message);
    const GcmKey& key = full();
    if (is_one_call(message)) return kernel_.gcm_open(key.cipher.schedule, key.hash, message);
    return open_composed(message);
  }

  void crypt(Direction direction, const SegmentNonces& nonces,
             std::span<SegmentCipher::Segment> segments) const override {
    const auto is_short = [&](const SegmentCipher::Segment& segment) {
      return text_bytes(direction, segment) < short_limit_;
    };
    auto end = std::ranges::find_if_not(segments, is_short);
    // Before anything is written, because there may be no memory for them.
    if (end != segments.end()) make_tables();
    JobList<SegmentCipher::Segment> jobs(direction);
    for (;; end = std::ranges::find_if_not(segments, is_short)) {
      const auto count = static_cast<std::size_t>(end - segments.begin());
      jobs.crypt(kernel_, short_, segments.first(count), nonces);
      if (end == segments.end()) return;
      if (!end->done) crypt_one(*this, direction, nonces, *end);
      segments = segments.subspan(count + 1);
    }
  }

  // Threads take whole messages, and then share out each of those that are too long for one call.
  void crypt_texts(Direction direction, std::span<GcmText> texts) const override {
    bool all_short = true;
    std::uint64_t bytes = 0;
    std::size_t others = 0;
    for (const GcmText& text : texts) {
      all_short = all_short && is_short(text);
      if (is_one_call(text)) {
        bytes += text.in.size() + message_cost_bytes;
      } else {
        ++others;
      }
    }
    // Before anything is written, because there may be no memory for them.
    if (!all_short) make_tables();
    const std::size_t count = texts.size();
    const std::uint64_t least = bytes == 0 ? count : 1 + min_range_bytes * count / bytes;
    executor_.run(count, least, [&](unsigned, std::uint64_t begin, std::uint64_t end) {
      JobList<GcmText> jobs(direction);
      const auto is_listed = [&](const GcmText& text) {
        return text.in.size() < short_limit_ && jobs.fits(text);
      };
      auto rest = texts.subspan(begin, end - begin);
      for (;;) {
        const auto other = std::ranges::find_if_not(rest, is_listed);
        const auto listed = static_cast<std::size_t>(other - rest.begin());
        jobs.crypt(kernel_, short_, rest.first(listed));
        if (other == rest.end()) return;
        if (is_one_call(*other)) GcmCipher::crypt_texts(direction, {&*other, 1});
        rest = rest.subspan(listed + 1);
      }
    });
    for (std::size_t i = 0; others != 0 && i < count; ++i) {
      if (is_one_call(texts[i])) continue;
      GcmCipher::crypt_texts(direction, {&texts[i], 1});
      --others;
    }
  }

  [[nodiscard]] const ShortGcmKey* short_key(std::uint64_t bytes) const noexcept override {
    return bytes < short_limit_ ? &short_ : nullptr;
  }

 private:
  // Longer associated data is faster with the tables as well.
  [[nodiscard]] bool is_short(const GcmMessage& message) const noexcept {
    return message.bytes < short_limit_ && message.nonce_bytes == 12 &&
           message.aad_bytes <= kernel_.max_short_bytes;
  }
  [[nodiscard]] bool is_short(const GcmText& text) const noexcept {
    return is_short(message_of(text));
  }
  // Whether the kernel's operation for whole messages processes this one.
  [[nodiscard]] bool is_one_call(const GcmMessage& message) const noexcept {
    return message.bytes < one_call_bytes_ && message.nonce_bytes <= max_library_nonce_bytes;
  }
  [[nodiscard]] bool is_one_call(const GcmText& text) const noexcept {
    return text.in.size() < one_call_bytes_ && text.nonce.size() <= max_library_nonce_bytes;
  }

  // Computes the tag in both directions.
  [[gnu::noinline]] void composed(Direction direction, const GcmMessage& message,
                                  std::uint8_t tag[16]) const {
    gcm_message(full(), message, tag, [&](const GcmCounter& j0, std::uint8_t state[16]) {
      GcmCounter counter = j0;
      add_be32(counter.block, 1);
      parallel_gcm(executor_, full(), direction, counter, state, message.in, message.out,
                   message.bytes);
    });
  }

  [[nodiscard, gnu::noinline]] bool open_composed(const GcmMessage& message) const {
    std::uint8_t computed[16];
    composed(Direction::decrypt, message, computed);
    return verify_and_wipe_tag(computed, message);
  }

  [[nodiscard]] const GcmKey& full() const {
    const GcmKey* const made = full_.load(std::memory_order_acquire);
    return made != nullptr ? *made : make_full();
  }

  // Several threads may make it at once: the first one is kept.
  [[nodiscard, gnu::cold, gnu::noinline]] const GcmKey& make_full() const {
    auto made = std::make_unique<const GcmKey>(kernel_, short_.encrypt[0], short_.key_bytes);
    const GcmKey* present = nullptr;
    if (!full_.compare_exchange_strong(present, made.get())) return *present;
    return *made.release();
  }

  std::uint64_t one_call_bytes_;   // messages of fewer bytes are one call of the kernel
  std::uint64_t short_limit_ = 0;  // messages of fewer bytes are processed with short_
  mutable std::atomic<const GcmKey*> full_ = nullptr;  // whatever short_ is not for
  ShortGcmKey short_;
};

}  // namespace

std::shared_ptr<const BlockCipher> make_cpu_block(std::unique_ptr<const CipherKey> key,
                                                  const Executor& executor, std::string fallback) {
  return std::make_shared<CpuBlock>(std::move(key), executor, std::move(fallback));
}

std::shared_ptr<const XtsCipher> make_cpu_xts(std::unique_ptr<const XtsKey> key,
                                              const Executor& executor, std::string fallback) {
  return std::make_shared<CpuXts>(std::move(key), executor, std::move(fallback));
}

std::shared_ptr<const GcmCipher> make_cpu_gcm(const Kernel& kernel, Bytes key,
                                              const Executor& executor, std::string fallback,
                                              Tables tables) {
  // Not by make_shared(), whose memory is not locked.
  const std::shared_ptr<const CpuGcm> made(new CpuGcm(kernel, key, executor, std::move(fallback)));
  if (tables == Tables::now) made->make_tables();
  return made;
}

void crypt_on_cpu(Direction direction, std::span<CipherSegment> segments) {
  JobList<SegmentCipher::Segment> jobs(direction);
  std::size_t count = 0;
  const Kernel* kernel = nullptr;  // of those in the list
  for (std::size_t i = 0; i < segments.size(); ++i) {
    // Many keys do not fit the caches.
    constexpr std::size_t ahead = 16;
    if (i + ahead < segments.size()) CpuGcm::prefetch(direction, segments[i + ahead]);
    CipherSegment& entry = segments[i];
    if (entry.segment.done) continue;
    const GcmCipher& cipher = entry.cipher->gcm();
    const SegmentNonces& nonces = entry.cipher->nonces();
    if (const ShortGcmKey* key = cipher.short_key(text_bytes(direction, entry.segment))) {
      if (count != 0 && (count == jobs.most || key->kernel != kernel)) {
        jobs.run(*kernel, count);
        count = 0;
      }
      kernel = key->kernel;
      jobs.set(count++, *key, nonces, entry.segment);
    } else {
      cipher.crypt(direction, nonces, {&entry.segment, 1});
    }
  }
  if (count != 0) jobs.run(*kernel, count);
}

}  // namespace paraes::detail
