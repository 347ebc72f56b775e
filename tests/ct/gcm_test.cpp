// GCM: the key, the hash key, the texts and the associated data are secret, and so is J0 unless the
// nonce has 96 bits.

#include <memory>
#include <string>

#include "src/cipher/parallel_modes.hpp"
#include "src/core/counter.hpp"
#include "src/modes/gcm.hpp"
#include "tests/ct/secrets.hpp"

namespace paraes::ct {
namespace {

// Texts of one partial block to two ranges for threads.
constexpr std::size_t text_sizes[] = {0, 1, 16, 64, 100, 500, 1024, 1500, 8200, 40000};
constexpr unsigned key_sizes[] = {16, 24, 32};

std::string title(unsigned key_bytes, std::size_t nonce_bytes, std::size_t text_bytes) {
  return "AES-" + std::to_string(8 * key_bytes) + ", nonce of " + std::to_string(nonce_bytes) +
         " bytes, text of " + std::to_string(text_bytes);
}

// One message by each way to process it. The nonce is public.
class OneMessage {
 public:
  OneMessage(const GcmKey& key, std::size_t nonce_bytes, std::size_t text_bytes)
      : key_(key),
        nonce_(support::pattern(nonce_bytes, 1)),
        aad_(hidden_text(20, 8)),
        in_(hidden_text(text_bytes)),
        out_(text_bytes) {}

  // Composed from ranges, on threads.
  void crypt_ranges(Direction direction, int threads) {
    const Executor executor(threads);
    gcm_message(key_, message(), tag_, [&](const GcmCounter& j0, std::uint8_t* state) {
      GcmCounter counter = j0;
      add_be32(counter.block, 1);
      parallel_gcm(executor, key_, direction, counter, state, in_.data(), out_.data(), in_.size());
    });
  }

  // By the kernel's operations for whole messages. That a tag matches is what the caller may learn:
  // the result is stored, and nothing branches on it here.
  void seal() { kernel().gcm_seal(key_.cipher.schedule, key_.hash, message()); }
  bool open(std::size_t tag_bytes) {
    GcmMessage opened = message();
    opened.tag_bytes = tag_bytes;
    return kernel().gcm_open(key_.cipher.schedule, key_.hash, opened);
  }

  [[nodiscard]] const Kernel& kernel() const { return key_.cipher.kernel; }
  [[nodiscard]] Bytes out() const { return out_; }
  [[nodiscard]] Bytes tag() const { return tag_; }

 private:
  GcmMessage message() {
    return {nonce_.data(), nonce_.size(), aad_.data(), aad_.size(), in_.data(),
            out_.data(),   in_.size(),    tag_,        tag_,        16};
  }

  const GcmKey& key_;
  Buffer nonce_;
  Buffer aad_;
  Buffer in_;
  Buffer out_;
  std::uint8_t tag_[16] = {};
};

class SecretsInGcm : public SecretsTest {
 protected:
  void run(unsigned key_bytes, std::size_t nonce_bytes, std::size_t text_bytes) {
    const std::string what = title(key_bytes, nonce_bytes, text_bytes);
    const Buffer key_text = hidden_key(key_bytes);
    std::unique_ptr<GcmKey> key;
    watch(what + ": the key",
          [&] { key = std::make_unique<GcmKey>(kernel(), key_text.data(), key_bytes); });
    OneMessage message(*key, nonce_bytes, text_bytes);
    for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
      for (const int threads : {1, 2}) {
        watch(what + ": ranges", [&] { message.crypt_ranges(direction, threads); });
        expect_hidden(message.out(), what);
        expect_hidden(message.tag(), what);
      }
    }
    if (kernel().gcm_seal == nullptr) return;
    watch(what + ": sealed", [&] { message.seal(); });
    expect_hidden(message.out(), what);
    expect_hidden(message.tag(), what);
    for (const std::size_t tag_bytes : {4U, 8U, 12U, 13U, 14U, 15U, 16U}) {
      bool intact = false;
      watch(what + ": opened", [&] { intact = message.open(tag_bytes); });
      EXPECT_TRUE(is_hidden_verdict(intact)) << what << ", tag of " << tag_bytes;
      expect_hidden(message.out(), what);
    }
  }

  // Ranges of all sizes, in each way to process one, from a counter that `make()` gives.
  template <class Make>
  void run_ranges(bool nontemporal, const Make& make) {
    const Buffer key_text = hidden_key(32);
    const GcmKey key(kernel(), key_text.data(), 32);
    for (const std::size_t bytes : text_sizes) {
      const Buffer in = hidden_text(bytes);
      support::PlacedBuffer out(bytes);
      for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
        GcmCounter counter = make();
        Buffer state = hidden_text(16, 3);
        watch(std::to_string(bytes) + " bytes", [&] {
          gcm_range(key, direction, counter, state.data(), in.data(), out.data(), bytes,
                    nontemporal);
        });
        expect_hidden(out.span(), "GCM");
      }
    }
  }
};

TEST_P(SecretsInGcm, DecideNothingForAnyText) {
  for (const unsigned key_bytes : key_sizes) {
    for (const std::size_t nonce_bytes : {12U, 16U}) {
      for (const std::size_t text_bytes : text_sizes) run(key_bytes, nonce_bytes, text_bytes);
    }
  }
}

TEST_P(SecretsInGcm, DecideNothingForAnyNonce) {
  for (std::size_t nonce_bytes = 1; nonce_bytes <= max_library_nonce_bytes; ++nonce_bytes) {
    for (const std::size_t text_bytes : {0U, 33U, 600U}) run(16, nonce_bytes, text_bytes);
  }
}

// J0 itself is marked, at the points where its low 32 bits wrap.
TEST_P(SecretsInGcm, HiddenCountersDecideNothing) {
  for (const unsigned low : {0x00U, 0x01U, 0x02U, 0x7fU, 0xf0U, 0xffU}) {
    for (const bool nontemporal : {false, true}) {
      if (nontemporal && kernel().gcm_encrypt_nontemporal == nullptr) continue;
      run_ranges(nontemporal, [&] {
        GcmCounter counter{.block = {}, .secret = true};
        std::fill(counter.block + 12, counter.block + 16, std::uint8_t{0xff});
        counter.block[15] = static_cast<std::uint8_t>(low);
        hide_object(counter.block);
        return counter;
      });
    }
  }
}

// With a 96-bit nonce the counter is public, and the kernels take other paths.
TEST_P(SecretsInGcm, DecideNothingWithNonTemporalStores) {
  if (kernel().gcm_encrypt_nontemporal == nullptr)
    GTEST_SKIP() << "this kernel has no such operation";
  for (const unsigned low : {0x02U, 0x22U, 0x03U, 0xe2U}) {
    run_ranges(true, [&] {
      GcmCounter counter{.block = {}, .secret = false};
      counter.block[15] = static_cast<std::uint8_t>(low);
      return counter;
    });
  }
}

PARAES_FOR_SECRETS(SecretsInGcm);

}  // namespace
}  // namespace paraes::ct
