#include "bench/memory/ours.hpp"

#include "bench/harness/case.hpp"
#include "paraes/ciphers.hpp"
#include "paraes/error.hpp"
#include "paraes/segments.hpp"
#include "src/core/executor.hpp"
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
        row_(find_kernel(gpu::parse_device(execution.device) ? "auto" : execution.kernel)) {}

  [[nodiscard]] PhaseTimes take_device_times() override { return cipher().take_device_times(); }

  bool expand_key() override {
    const std::uint8_t* key = material().key.data();
    const auto size = static_cast<unsigned>(job_.key_bits / 8);
    switch (job_.mode.value()) {
      case Mode::xts:
        (void)XtsKey(row_, key, size);
        break;
      case Mode::gcm:
        (void)GcmKey(row_, key, size);
        break;
      default:
        (void)CipherKey(row_, key, size);
    }
    return true;
  }

 protected:
  [[nodiscard]] virtual const Cipher& cipher() const = 0;
  [[nodiscard]] bool encrypts() const { return job_.direction == Direction::encrypt; }
  [[nodiscard]] Bytes input(const std::uint8_t* in) const { return {in, job_.bytes}; }
  [[nodiscard]] MutableBytes output(std::uint8_t* out) const { return {out, job_.bytes}; }

 private:
  Job job_;
  const Kernel& row_;
};

class OurEcb : public Ours {
 public:
  OurEcb(const Job& job, const Execution& execution)
      : Ours(job, execution), ecb_(job_key(job), execution) {}

  void run(const std::uint8_t* in, std::uint8_t* out, std::uint8_t* /*tag*/) override {
    encrypts() ? ecb_.encrypt(input(in), output(out)) : ecb_.decrypt(input(in), output(out));
  }

 protected:
  [[nodiscard]] const Cipher& cipher() const override { return ecb_; }

 private:
  Ecb ecb_;
};

class OurCbc : public Ours {
 public:
  OurCbc(const Job& job, const Execution& execution)
      : Ours(job, execution), chain_(cbc_chain(job)), cbc_(job_key(job), chain_, execution) {
    if (job.offset != 0 && encrypts()) throw Skip("CBC encryption is serial");
  }

  void run(const std::uint8_t* in, std::uint8_t* out, std::uint8_t* /*tag*/) override {
    cbc_.reset(chain_);
    encrypts() ? cbc_.encrypt(input(in), output(out)) : cbc_.decrypt(input(in), output(out));
  }

 protected:
  [[nodiscard]] const Cipher& cipher() const override { return cbc_; }

 private:
  std::array<std::uint8_t, 16> chain_;
  Cbc cbc_;
};

class OurCtr : public Ours {
 public:
  OurCtr(const Job& job, const Execution& execution)
      : Ours(job, execution), offset_(job.offset), ctr_(job_key(job), material().iv, execution) {}

  void run(const std::uint8_t* in, std::uint8_t* out, std::uint8_t* /*tag*/) override {
    ctr_.seek(offset_);
    ctr_.process(input(in), output(out));
  }

 protected:
  [[nodiscard]] const Cipher& cipher() const override { return ctr_; }

 private:
  std::uint64_t offset_;
  Ctr ctr_;
};

class OurXts : public Ours {
 public:
  OurXts(const Job& job, const Execution& execution)
      : Ours(job, execution),
        first_(xts_tweak(first_unit(job))),
        xts_(job_key(job), job.unit, execution) {}

  void run(const std::uint8_t* in, std::uint8_t* out, std::uint8_t* /*tag*/) override {
    encrypts() ? xts_.encrypt(first_, input(in), output(out))
               : xts_.decrypt(first_, input(in), output(out));
  }

 protected:
  [[nodiscard]] const Cipher& cipher() const override { return xts_; }

 private:
  std::array<std::uint8_t, 16> first_;
  Xts xts_;
};

class OurGcm : public Ours {
 public:
  OurGcm(const Job& job, const Execution& execution)
      : Ours(job, execution), gcm_(job_key(job), execution) {
    if (job.offset != 0) throw Skip("GCM authenticates a message as a whole");
  }

  void run(const std::uint8_t* in, std::uint8_t* out, std::uint8_t* tag) override {
    if (encrypts()) {
      gcm_.encrypt(material().nonce, {}, input(in), output(out), {tag, 16});
    } else {
      gcm_.decrypt(material().nonce, {}, input(in), output(out), {tag, 16});
    }
  }

 protected:
  [[nodiscard]] const Cipher& cipher() const override { return gcm_; }

 private:
  Gcm gcm_;
};

// Counts the keys of all rows of many messages, which exist at once and take 8 KiB of locked memory
// each.
class KeyCount {
 public:
  explicit KeyCount(std::uint64_t keys) : keys_(keys) {
    if (all_ + keys > limit) {
      throw Skip("the rows would have more than " + std::to_string(limit) +
                 " keys together: choose fewer rows or a smaller --size");
    }
    all_ += keys;
  }
  ~KeyCount() { all_ -= keys_; }
  KeyCount(const KeyCount&) = delete;
  KeyCount& operator=(const KeyCount&) = delete;
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
        keys_(job.key_each ? messages_.count : 1) {
    if (job.key_bits == 192) throw Skip("messages of paraes have 128- and 256-bit keys only");
    execution.threads = 1;
    for (std::uint64_t k = 0; k < keys_.count(); ++k) {
      const auto key = job.key_each ? message_key(k) : material().key;
      ciphers_.emplace_back(Bytes(key.data(), key_bytes(job)), material().nonce,
                            SegmentCipher::Nonces::counted, execution);
    }
  }

  void run(const std::uint8_t* in, std::uint8_t* out, std::uint8_t* /*tag*/) override {
    if (segments_.empty() && keyed_segments_.empty()) {
      job_.key_each ? keyed_segments_.resize(messages_.count) : segments_.resize(messages_.count);
    }
    const std::uint64_t least = (min_grains * grain_bytes + messages_.slot - 1) / messages_.slot;
    executor_.run(messages_.count, least, [&](unsigned, std::uint64_t begin, std::uint64_t end) {
      job_.key_each ? crypt_keyed(in, out, begin, end) : crypt(in, out, begin, end);
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

}  // namespace

std::unique_ptr<Implementation> make_ours(const Job& job, const std::string& kernel) {
  return make_ours(job, Execution{.kernel = kernel, .threads = job.threads});
}

std::unique_ptr<Implementation> make_ours(const Job& job, const Execution& execution) {
  if (job.message != 0) return std::make_unique<OurMessages>(job, execution);
  switch (job.mode.value()) {
    case Mode::ecb:
      return std::make_unique<OurEcb>(job, execution);
    case Mode::cbc:
      return std::make_unique<OurCbc>(job, execution);
    case Mode::ctr:
      return std::make_unique<OurCtr>(job, execution);
    case Mode::xts:
      return std::make_unique<OurXts>(job, execution);
    case Mode::gcm:
      break;
  }
  return std::make_unique<OurGcm>(job, execution);
}

}  // namespace paraes::bench
