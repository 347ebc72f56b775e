#include "src/cipher/cpu.hpp"

#include <algorithm>
#include <utility>

#include "src/cipher/parallel_modes.hpp"
#include "src/core/counter.hpp"

namespace paraes::detail {
namespace {

// The part of HostCipher that is the same for all CPU ciphers.
template <class Interface, class KeyPointer>
class OnCpu : public Interface {
 public:
  OnCpu(const Kernel& kernel, KeyPointer key, const Executor& executor, std::string fallback)
      : kernel_(kernel),
        key_(std::move(key)),
        executor_(executor),
        fallback_(std::move(fallback)) {}

  [[nodiscard]] std::string_view kernel() const noexcept final { return kernel_.name; }
  [[nodiscard]] std::string device() const final { return "cpu"; }
  [[nodiscard]] int threads() const noexcept final { return executor_.threads(); }
  [[nodiscard]] std::string fallback() const final { return fallback_; }

 protected:
  const Kernel& kernel_;
  const KeyPointer key_;
  const Executor executor_;

 private:
  std::string fallback_;
};

class CpuBlock final : public OnCpu<BlockCipher, std::unique_ptr<const CipherKey>> {
 public:
  using OnCpu::OnCpu;

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
};

class CpuXts final : public OnCpu<XtsCipher, std::unique_ptr<const XtsKey>> {
 public:
  using OnCpu::OnCpu;

  void xts(Direction direction, const std::uint8_t first_unit[16], std::size_t unit_bytes,
           const std::uint8_t* in, std::uint8_t* out, std::size_t bytes) const override {
    parallel_xts(executor_, *key_, direction, first_unit, unit_bytes, in, out, bytes);
  }
};

// Segments and messages that a kernel processes in one call each, or several in one call.
class JobList {
 public:
  explicit JobList(Direction direction) : direction_(direction) {}

  void add(const GcmKey& key, const SegmentNonces& nonces, SegmentCipher::Segment& segment) {
    GcmJob& job = add(key, {&segment, nullptr});
    job.nonce = nonce_words(nonces, segment.index, segment.last);
    set_message(job.message, direction_, job.nonce, segment);
  }

  // text: one that fits() takes.
  void add(const GcmKey& key, GcmText& text) {
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

  // Processes the segments in the list and empties it.
  void run() {
    const std::size_t count = std::exchange(count_, 0);
    if (count == 0) return;
    const bool encrypts = direction_ == Direction::encrypt;
    const auto many = encrypts ? kernel_->gcm_seal_many : kernel_->gcm_open_many;
    if (many != nullptr) many(jobs_, count);
    for (std::size_t i = 0; i < count; ++i) {
      if (many == nullptr) run_one(jobs_[i]);
      finish(results_[i], encrypts || jobs_[i].intact);
    }
  }

 private:
  static constexpr std::size_t most = 32;

  // Whose job it is: one of the two.
  struct Result {
    SegmentCipher::Segment* segment;
    GcmText* text;
  };

  GcmJob& add(const GcmKey& key, Result result) {
    if (count_ == most || (count_ != 0 && &key.cipher.kernel != kernel_)) run();
    kernel_ = &key.cipher.kernel;
    results_[count_] = result;
    GcmJob& job = jobs_[count_++];
    job.schedule = &key.cipher.schedule;
    job.hash = &key.hash;
    return job;
  }

  void finish(const Result& result, bool intact) const noexcept {
    if (result.segment != nullptr) {
      detail::finish(direction_, *result.segment, intact);
    } else if (direction_ == Direction::decrypt) {
      finish_decryption(*result.text, intact);
    }
  }

  void run_one(GcmJob& job) const {
    if (direction_ == Direction::encrypt) {
      kernel_->gcm_seal(*job.schedule, *job.hash, job.message);
    } else {
      job.intact = kernel_->gcm_open(*job.schedule, *job.hash, job.message);
    }
  }

  Direction direction_;
  const Kernel* kernel_ = nullptr;
  std::size_t count_ = 0;
  GcmJob jobs_[most];
  Result results_[most];
};

// What a message costs besides its text, in bytes of text.
constexpr std::uint64_t message_cost_bytes = 256;

class CpuGcm final : public OnCpu<GcmCipher, std::shared_ptr<const GcmKey>> {
 public:
  CpuGcm(std::shared_ptr<const GcmKey> key, const Executor& executor, std::string fallback)
      : OnCpu(key->cipher.kernel, key, executor, std::move(fallback)),
        one_call_bytes_(gcm_one_call_bytes(executor, kernel_)) {}

  void seal(const GcmMessage& message) const override {
    if (is_one_call(message)) return kernel_.gcm_seal(key_->cipher.schedule, key_->hash, message);
    composed(Direction::encrypt, message, message.tag);
  }

  [[nodiscard]] bool open(const GcmMessage& message) const override {
    if (is_one_call(message)) return kernel_.gcm_open(key_->cipher.schedule, key_->hash, message);
    return open_composed(message);
  }

  void crypt(Direction direction, const SegmentNonces& nonces,
             std::span<SegmentCipher::Segment> segments) const override {
    JobList jobs(direction);
    for (SegmentCipher::Segment& segment : segments) {
      if (segment.done) continue;
      if (text_bytes(direction, segment) < one_call_bytes_) {
        jobs.add(*key_, nonces, segment);
      } else {
        crypt_one(*this, direction, nonces, segment);
      }
    }
    jobs.run();
  }

  // Threads take whole messages, and then share out each of those that are too long for one call.
  void crypt_texts(Direction direction, std::span<GcmText> texts) const override {
    std::uint64_t bytes = 0;
    std::size_t others = 0;
    for (const GcmText& text : texts) {
      if (is_one_call(text)) {
        bytes += text.in.size() + message_cost_bytes;
      } else {
        ++others;
      }
    }
    const std::size_t count = texts.size();
    const std::uint64_t least = bytes == 0 ? count : 1 + min_range_bytes * count / bytes;
    executor_.run(count, least, [&](unsigned, std::uint64_t begin, std::uint64_t end) {
      JobList jobs(direction);
      for (std::uint64_t i = begin; i < end; ++i) {
        GcmText& text = texts[static_cast<std::size_t>(i)];
        if (!is_one_call(text)) continue;
        if (jobs.fits(text)) {
          jobs.add(*key_, text);
        } else {
          GcmCipher::crypt_texts(direction, {&text, 1});
        }
      }
      jobs.run();
    });
    for (std::size_t i = 0; others != 0 && i < count; ++i) {
      if (is_one_call(texts[i])) continue;
      GcmCipher::crypt_texts(direction, {&texts[i], 1});
      --others;
    }
  }

  [[nodiscard]] const GcmKey* one_call_key(std::uint64_t bytes) const noexcept override {
    return bytes < one_call_bytes_ ? key_.get() : nullptr;
  }

 private:
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
    gcm_message(*key_, message, tag, [&](const GcmCounter& j0, std::uint8_t state[16]) {
      GcmCounter counter = j0;
      add_be32(counter.block, 1);
      parallel_gcm(executor_, *key_, direction, counter, state, message.in, message.out,
                   message.bytes);
    });
  }

  [[nodiscard, gnu::noinline]] bool open_composed(const GcmMessage& message) const {
    std::uint8_t computed[16];
    composed(Direction::decrypt, message, computed);
    return verify_and_wipe_tag(computed, message);
  }

  std::uint64_t one_call_bytes_;  // messages of fewer bytes are one call of the kernel
};

}  // namespace

std::shared_ptr<const BlockCipher> make_cpu_block(std::unique_ptr<const CipherKey> key,
                                                  const Executor& executor, std::string fallback) {
  const Kernel& kernel = key->kernel;
  return std::make_shared<CpuBlock>(kernel, std::move(key), executor, std::move(fallback));
}

std::shared_ptr<const XtsCipher> make_cpu_xts(std::unique_ptr<const XtsKey> key,
                                              const Executor& executor, std::string fallback) {
  const Kernel& kernel = key->data.kernel;
  return std::make_shared<CpuXts>(kernel, std::move(key), executor, std::move(fallback));
}

std::shared_ptr<const GcmCipher> make_cpu_gcm(std::shared_ptr<const GcmKey> key,
                                              const Executor& executor, std::string fallback) {
  return std::make_shared<CpuGcm>(std::move(key), executor, std::move(fallback));
}

void crypt_on_cpu(Direction direction, std::span<CipherSegment> segments) {
  JobList jobs(direction);
  for (CipherSegment& entry : segments) {
    if (entry.segment.done) continue;
    const GcmCipher& cipher = entry.cipher->gcm();
    const SegmentNonces& nonces = entry.cipher->nonces();
    if (const GcmKey* key = cipher.one_call_key(text_bytes(direction, entry.segment))) {
      jobs.add(*key, nonces, entry.segment);
    } else {
      cipher.crypt(direction, nonces, {&entry.segment, 1});
    }
  }
  jobs.run();
}

}  // namespace paraes::detail
