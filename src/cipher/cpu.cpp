#include "src/cipher/cpu.hpp"

#include <utility>

#include "src/cipher/parallel_modes.hpp"
#include "src/core/counter.hpp"

namespace paraes::detail {
namespace {

// The part of DeviceCipher that is the same for all CPU ciphers.
template <class Interface>
class OnCpu : public Interface {
 public:
  OnCpu(const Kernel& kernel, const Executor& executor, std::string fallback)
      : kernel_(kernel), executor_(executor), fallback_(std::move(fallback)) {}

  [[nodiscard]] std::string_view kernel() const noexcept final { return kernel_.name; }
  [[nodiscard]] std::string device() const final { return "cpu"; }
  [[nodiscard]] int threads() const noexcept final { return executor_.threads(); }
  [[nodiscard]] std::string fallback() const final { return fallback_; }

 protected:
  const Kernel& kernel_;
  const Executor executor_;

 private:
  std::string fallback_;
};

class CpuBlock final : public OnCpu<BlockCipher> {
 public:
  CpuBlock(const Kernel& kernel, const Executor& executor, Bytes key, std::string fallback)
      : OnCpu(kernel, executor, std::move(fallback)),
        key_(std::make_unique<CipherKey>(kernel, key.data(), static_cast<unsigned>(key.size()))) {}

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
  CpuXts(const Kernel& kernel, const Executor& executor, Bytes key, std::string fallback)
      : OnCpu(kernel, executor, std::move(fallback)),
        key_(std::make_unique<XtsKey>(kernel, key.data(), static_cast<unsigned>(key.size() / 2))) {}

  void xts(Direction direction, const std::uint8_t first_unit[16], std::size_t unit_bytes,
           const std::uint8_t* in, std::uint8_t* out, std::size_t bytes) const override {
    parallel_xts(executor_, *key_, direction, first_unit, unit_bytes, in, out, bytes);
  }

 private:
  std::unique_ptr<const XtsKey> key_;
};

// Encrypts or decrypts the text of a message on one thread.
struct OneThread {
  explicit OneThread(const Executor&) {}
  void operator()(const GcmKey& key, Direction direction, GcmCounter& counter,
                  std::uint8_t state[16], const std::uint8_t* in, std::uint8_t* out,
                  std::size_t bytes) const {
    gcm_range(key, direction, counter, state, in, out, bytes);
  }
};

// Encrypts or decrypts the text of a message on several threads.
struct SeveralThreads {
  const Executor& executor;

  explicit SeveralThreads(const Executor& threads) : executor(threads) {}
  void operator()(const GcmKey& key, Direction direction, const GcmCounter& counter,
                  std::uint8_t state[16], const std::uint8_t* in, std::uint8_t* out,
                  std::size_t bytes) const {
    parallel_gcm(executor, key, direction, counter, state, in, out, bytes);
  }
};

// The kernel's library seals and opens whole messages.
struct ByLibrary {
  explicit ByLibrary(const Executor&) {}
};

template <class Text>
[[gnu::always_inline]] inline void message(const Text& text, const GcmKey& key, Direction direction,
                                           Bytes nonce, Bytes aad, Bytes in, std::uint8_t* out,
                                           std::uint8_t tag[16]) {
  gcm_message(key, nonce, aad, in.size(), tag, [&](const GcmCounter& j0, std::uint8_t state[16]) {
    GcmCounter counter = j0;
    add_be32(counter.block, 1);
    text(key, direction, counter, state, in.data(), out, in.size());
  });
}

template <class Text>
void seal_message(const Text& text, const GcmKey& key, Bytes nonce, Bytes aad, Bytes in,
                  std::uint8_t* out, std::uint8_t* tag) {
  message(text, key, Direction::encrypt, nonce, aad, in, out, tag);
}

template <class Text>
bool open_message(const Text& text, const GcmKey& key, Bytes nonce, Bytes aad, Bytes in,
                  std::uint8_t* out, Bytes tag) {
  std::uint8_t expected[16];
  message(text, key, Direction::decrypt, nonce, aad, in, out, expected);
  const bool intact = gcm_accept(expected, tag, {out, in.size()});
  secure_zero(expected, sizeof expected);
  return intact;
}

void seal_message(const ByLibrary&, const GcmKey& key, Bytes nonce, Bytes aad, Bytes in,
                  std::uint8_t* out, std::uint8_t* tag) {
  key.cipher.kernel.gcm_seal(key.cipher.schedule, nonce.data(), nonce.size(), aad.data(),
                             aad.size(), in.data(), out, in.size(), tag);
}

bool open_message(const ByLibrary& library, const GcmKey& key, Bytes nonce, Bytes aad, Bytes in,
                  std::uint8_t* out, Bytes tag) {
  static_cast<void>(library);
  if (nonce.size() > max_library_nonce_bytes) {
    return open_message(OneThread(Executor(1)), key, nonce, aad, in, out, tag);
  }
  const bool intact =
      key.cipher.kernel.gcm_open(key.cipher.schedule, nonce.data(), nonce.size(), aad.data(),
                                 aad.size(), in.data(), out, in.size(), tag.data(), tag.size());
  if (!intact) secure_zero(out, in.size());
  return intact;
}

template <class Text>
class CpuGcm final : public OnCpu<GcmCipher> {
 public:
  CpuGcm(std::shared_ptr<const GcmKey> key, const Executor& executor, std::string fallback)
      : OnCpu(key->cipher.kernel, executor, std::move(fallback)),
        key_(std::move(key)),
        text_(executor_) {}

  void seal(Bytes nonce, Bytes aad, Bytes in, MutableBytes out, std::uint8_t* tag) const override {
    seal_message(text_, *key_, nonce, aad, in, out.data(), tag);
  }

  [[nodiscard]] bool open(Bytes nonce, Bytes aad, Bytes in, MutableBytes out,
                          Bytes tag) const override {
    return open_message(text_, *key_, nonce, aad, in, out.data(), tag);
  }

  void crypt(Direction direction, const SegmentNonces& nonces,
             std::span<SegmentCipher::Segment> segments) const override {
    for (SegmentCipher::Segment& segment : segments) {
      if (segment.done) continue;
      const auto nonce = nonces.nonce(segment.index, segment.last);
      std::uint8_t* const out = segment.out.data();
      if (direction == Direction::encrypt) {
        seal_message(text_, *key_, nonce, {}, segment.in, out, out + segment.in.size());
      } else {
        segment.intact = open_message(text_, *key_, nonce, {}, segment.in.first(segment.out.size()),
                                      out, segment.in.last(segment_tag_bytes));
      }
      segment.done = true;
    }
  }

 private:
  std::shared_ptr<const GcmKey> key_;
  Text text_;
};

}  // namespace

std::shared_ptr<const BlockCipher> make_cpu_block(const Kernel& kernel, const Executor& executor,
                                                  Bytes key, std::string fallback) {
  return std::make_shared<CpuBlock>(kernel, executor, key, std::move(fallback));
}

std::shared_ptr<const XtsCipher> make_cpu_xts(const Kernel& kernel, const Executor& executor,
                                              Bytes key, std::string fallback) {
  return std::make_shared<CpuXts>(kernel, executor, key, std::move(fallback));
}

std::shared_ptr<const GcmCipher> make_cpu_gcm(std::shared_ptr<const GcmKey> key,
                                              const Executor& executor, std::string fallback) {
  if (executor.threads() > 1) {
    return std::make_shared<CpuGcm<SeveralThreads>>(std::move(key), executor, std::move(fallback));
  }
  if (key->cipher.kernel.gcm_seal != nullptr) {
    return std::make_shared<CpuGcm<ByLibrary>>(std::move(key), executor, std::move(fallback));
  }
  return std::make_shared<CpuGcm<OneThread>>(std::move(key), executor, std::move(fallback));
}

}  // namespace paraes::detail
