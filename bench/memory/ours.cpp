#include "bench/memory/ours.hpp"

#include "bench/harness/case.hpp"
#include "paraes/ciphers.hpp"
#include "paraes/error.hpp"
#include "paraes/segments.hpp"
#include "src/core/executor.hpp"
#include "src/core/non_copyable.hpp"
#include "src/gpu/pool.hpp"
#include "src/kernels/registry.hpp"
#include "src/modes/cipher_key.hpp"
#include "src/modes/gcm.hpp"
#include "src/modes/xts.hpp"

namespace paraes::bench {
namespace {

Bytes job_key(const Job& job) { return {material().key.data(), key_bytes(job)}; }

class Ours : public Implementation {
 public:
  Ours(const Job& job, const Execution& execution)
      : job_(job),
        // For expand_key(), which runs on the CPU. execution.kernel may be a GPU kernel.
        kernel_(find_kernel(gpu::parse_device(execution.device) ? "auto" : execution.kernel)) {}

  [[nodiscard]] PhaseTimes take_device_times() override { return cipher().take_device_times(); }

  bool expand_key() override {
    const std::uint8_t* key = material().key.data();
    const auto size = static_cast<unsigned>(job_.key_bits / 8);
    switch (job_.mode.value()) {
      case Mode::xts:
        (void)XtsKey(kernel_, key, size);
        break;
      case Mode::gcm:
        (void)GcmKey(kernel_, key, size);
        break;
      default:
        (void)CipherKey(kernel_, key, size);
    }
    return true;
  }

 protected:
  [[nodiscard]] virtual const Cipher& cipher() const = 0;
  [[nodiscard]] bool encrypts() const { return job_.direction == Direction::encrypt; }

 private:
  Job job_;
  const Kernel& kernel_;
};

// One message.
template <class AnyCipher, class Run>
class OurMessage : public Ours {
 public:
  OurMessage(const Job& job, const Execution& execution, AnyCipher cipher, const Run& run)
      : Ours(job, execution), bytes_(job.bytes), cipher_(std::move(cipher)), run_(run) {}

  void run(const std::uint8_t* in, std::uint8_t* out, std::uint8_t* tag) override {
    run_(cipher_, Bytes(in, bytes_), MutableBytes(out, bytes_), tag);
  }

 protected:
  [[nodiscard]] const Cipher& cipher() const override { return cipher_; }

 private:
  std::size_t bytes_;
  AnyCipher cipher_;
  Run run_;
};

// run(cipher, in, out, tag) computes the message.
template <class AnyCipher, class Run>
std::unique_ptr<Implementation> our_message(const Job& job, const Execution& execution,
                                            AnyCipher cipher, const Run& run) {
  return std::make_unique<OurMessage<AnyCipher, Run>>(job, execution, std::move(cipher), run);
}

// Counts the keys of all kernels of many messages, which exist at once and take locked memory.
class KeyCount : NonCopyable {
 public:
  explicit KeyCount(std::uint64_t keys) : keys_(keys) {
    if (all_ + keys > limit) {
      throw Skip("the kernels would have more than " + std::to_string(limit) +
                 " keys together: choose fewer kernels or a smaller --size");
    }
    all_ += keys;
  }
  ~KeyCount() { all_ -= keys_; }
  [[nodiscard]] std::uint64_t count() const { return keys_; }

 private:
  static constexpr std::uint64_t limit = std::uint64_t{1} << 14;
  static inline std::uint64_t all_ = 0;
  std::uint64_t keys_;
};

// Processes many messages as segments of SegmentCipher. A call fills the list of segments,
// too, since programs have other buffers in each call.
class OurMessages : public Ours {
 public:
  using Segment = SegmentCipher::Segment;

  OurMessages(const Job& job, Execution execution)
      : Ours(job, execution),
        job_(job),
        messages_(job),
        executor_(job.threads),
        keys_(job.keys == Keys::each ? messages_.count : 1) {
    if (job.key_bits == 192) throw Skip("messages of paraes have 128- and 256-bit keys only");
    execution.threads = 1;
    for (std::uint64_t k = 0; k < keys_.count(); ++k) {
      const auto key = job.keys == Keys::each ? message_key(k) : material().key;
      ciphers_.emplace_back(Bytes(key.data(), key_bytes(job)), material().nonce,
                            SegmentCipher::Nonces::counted, execution);
    }
  }

  void run(const std::uint8_t* in, std::uint8_t* out, std::uint8_t* /*tag*/) override {
    if (segments_.empty() && keyed_segments_.empty()) {
      job_.keys == Keys::each ? keyed_segments_.resize(messages_.count)
                              : segments_.resize(messages_.count);
    }
    const std::uint64_t least = (min_grains * grain_bytes + messages_.slot - 1) / messages_.slot;
    executor_.run(messages_.count, least, [&](unsigned, std::uint64_t begin, std::uint64_t end) {
      job_.keys == Keys::each ? crypt_keyed(in, out, begin, end) : crypt(in, out, begin, end);
    });
  }

 protected:
  [[nodiscard]] const Cipher& cipher() const override { return ciphers_.front(); }

 private:
  // Writes the members in place: copying a segment that was just made takes longer than its
  // encryption.
  void fill(Segment& segment, const std::uint8_t* in, std::uint8_t* out, std::uint64_t m) const {
    const std::uint64_t at = messages_.offset(m);
    const std::size_t plain = messages_.size(m);
    const std::size_t sealed = plain + tag_bytes;
    segment.index = m;
    segment.in = {in + at, encrypts() ? plain : sealed};
    segment.out = {out + at, encrypts() ? sealed : plain};
  }

  void require_intact(const Segment& segment) const {
    if (!encrypts() && !segment.intact) throw IntegrityError("the GCM tag does not match");
  }

  void crypt(const std::uint8_t* in, std::uint8_t* out, std::uint64_t begin, std::uint64_t end) {
    const std::span list = std::span(segments_).subspan(begin, end - begin);
    for (std::uint64_t m = begin; m < end; ++m) fill(segments_[m], in, out, m);
    ciphers_.front().crypt(job_.direction, list);
    for (const Segment& done : list) require_intact(done);
  }

  void crypt_keyed(const std::uint8_t* in, std::uint8_t* out, std::uint64_t begin,
                   std::uint64_t end) {
    const std::span list = std::span(keyed_segments_).subspan(begin, end - begin);
    for (std::uint64_t m = begin; m < end; ++m) {
      keyed_segments_[m].cipher = &ciphers_[m];
      fill(keyed_segments_[m].segment, in, out, m);
    }
    SegmentCipher::crypt(job_.direction, list);
    for (const CipherSegment& done : list) require_intact(done.segment);
  }

  Job job_;
  Messages messages_;
  Executor executor_;
  KeyCount keys_;
  std::vector<SegmentCipher> ciphers_;
  std::vector<Segment> segments_;  // with one key
  std::vector<CipherSegment> keyed_segments_;
};

// Processes many messages whose keys are expanded in the call. Filling the list is timed, too.
class OurKeyedMessages : public Ours {
 public:
  OurKeyedMessages(const Job& job, const Execution& execution)
      : Ours(job, execution), job_(job), messages_(job), execution_(execution), gcm_(job_key(job)) {
    for (std::uint64_t m = 0; m < messages_.count; ++m) {
      keys_.push_back(message_key(m));
      nonces_.push_back(segment_nonce(m));
    }
  }

  void run(const std::uint8_t* in, std::uint8_t* out, std::uint8_t* /*tag*/) override {
    texts_.resize(messages_.count);
    for (std::uint64_t m = 0; m < messages_.count; ++m) fill(texts_[m], in, out, m);
    encrypts() ? Gcm::encrypt_keyed(texts_, execution_) : Gcm::decrypt_keyed(texts_, execution_);
    for (const KeyedGcmText& done : texts_) {
      if (!encrypts() && !done.text.intact) throw IntegrityError("the GCM tag does not match");
    }
  }

 protected:
  [[nodiscard]] const Cipher& cipher() const override { return gcm_; }

 private:
  void fill(KeyedGcmText& keyed, const std::uint8_t* in, std::uint8_t* out, std::uint64_t m) const {
    const std::uint64_t at = messages_.offset(m);
    const std::size_t plain = messages_.size(m);
    keyed.key = {keys_[m].data(), key_bytes(job_)};
    keyed.text.nonce = nonces_[m];
    keyed.text.in = {in + at, plain};
    keyed.text.out = {out + at, plain};
    if (encrypts()) {
      keyed.text.tag = {out + at + plain, tag_bytes};
    } else {
      keyed.text.expected_tag = {in + at + plain, tag_bytes};
    }
  }

  Job job_;
  Messages messages_;
  Execution execution_;
  Gcm gcm_;  // for its kernel's name
  std::vector<std::array<std::uint8_t, 64>> keys_;
  std::vector<std::array<std::uint8_t, 12>> nonces_;
  std::vector<KeyedGcmText> texts_;
};

}  // namespace

std::unique_ptr<Implementation> make_ours(const Job& job, const std::string& kernel) {
  return make_ours(job, Execution{.kernel = kernel, .threads = job.threads});
}

std::unique_ptr<Implementation> make_ours(const Job& job, const Execution& execution) {
  if (job.message != 0 && job.keys == Keys::once) {
    return std::make_unique<OurKeyedMessages>(job, execution);
  }
  if (job.message != 0) return std::make_unique<OurMessages>(job, execution);
  const Bytes key = job_key(job);
  const bool encrypts = job.direction == Direction::encrypt;
  switch (job.mode.value()) {
    case Mode::ecb:
      return our_message(job, execution, Ecb(key, execution),
                         [=](Ecb& ecb, Bytes in, MutableBytes out, std::uint8_t*) {
                           encrypts ? ecb.encrypt(in, out) : ecb.decrypt(in, out);
                         });
    case Mode::cbc: {
      if (job.offset != 0 && encrypts) throw Skip("CBC encryption is serial");
      const auto chain = cbc_chain(job);
      return our_message(job, execution, Cbc(key, chain, execution),
                         [=](Cbc& cbc, Bytes in, MutableBytes out, std::uint8_t*) {
                           cbc.reset(chain);
                           encrypts ? cbc.encrypt(in, out) : cbc.decrypt(in, out);
                         });
    }
    case Mode::ctr:
      return our_message(
          job, execution, Ctr(key, material().iv, execution),
          [offset = job.offset](Ctr& ctr, Bytes in, MutableBytes out, std::uint8_t*) {
            ctr.seek(offset);
            ctr.process(in, out);
          });
    case Mode::xts:
      return our_message(job, execution, Xts(key, job.unit, execution),
                         [encrypts, first = xts_tweak(first_unit(job))](
                             Xts& xts, Bytes in, MutableBytes out, std::uint8_t*) {
                           encrypts ? xts.encrypt(first, in, out) : xts.decrypt(first, in, out);
                         });
    case Mode::gcm:
      break;
  }
  if (job.offset != 0) throw Skip("GCM authenticates a message as a whole");
  return our_message(job, execution, Gcm(key, execution),
                     [=](Gcm& gcm, Bytes in, MutableBytes out, std::uint8_t* tag) {
                       const Bytes nonce = material().nonce;
                       encrypts ? gcm.encrypt(nonce, {}, in, out, {tag, 16})
                                : gcm.decrypt(nonce, {}, in, out, {tag, 16});
                     });
}

}  // namespace paraes::bench
