#include "bench/memory/ours.hpp"

#include "bench/harness/case.hpp"
#include "paraes/ciphers.hpp"
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

}  // namespace

std::unique_ptr<Implementation> make_ours(const Job& job, const std::string& kernel) {
  return make_ours(job, Execution{.kernel = kernel, .threads = job.threads});
}

std::unique_ptr<Implementation> make_ours(const Job& job, const Execution& execution) {
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
