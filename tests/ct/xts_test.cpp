// XTS: both keys, the encrypted tweaks and the texts are secret. The numbers of data units are
// public.

#include <string>

#include "src/cipher/parallel_modes.hpp"
#include "tests/ct/secrets.hpp"

namespace paraes::ct {
namespace {

class SecretsInXts : public SecretsTest {};

// One unit and several, with and without stealing, and for two threads.
TEST_P(SecretsInXts, DecideNoBranchAndNoAddress) {
  const Buffer number = support::pattern(16, 3);
  for (const unsigned half_bytes : {16U, 32U}) {
    const Buffer key_text = hidden_key(2UL * half_bytes);
    const XtsKey key(kernel(), key_text.data(), half_bytes);
    for (const std::size_t unit_bytes : {0, 16, 48, 500, 512}) {
      for (const std::size_t text_bytes : {16, 17, 31, 100, 512, 1500, 8200, 40000}) {
        const Buffer in = hidden_text(text_bytes);
        Buffer out(text_bytes);
        for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
          for (const int threads : {1, 2}) {
            const Executor executor(threads);
            const std::string what = "AES-" + std::to_string(8 * half_bytes) + ", units of " +
                                     std::to_string(unit_bytes) + " bytes, text of " +
                                     std::to_string(text_bytes);
            watch(what, [&] {
              parallel_xts(executor, key, direction, number.data(), unit_bytes, in.data(),
                           out.data(), text_bytes);
            });
            expect_hidden(out, what);
          }
        }
      }
    }
  }
}

// The tweak is marked, and not only the key that it is computed with.
TEST_P(SecretsInXts, HiddenTweaksDecideNothing) {
  const Buffer key_text = hidden_key(32);
  const CipherKey key(kernel(), key_text.data(), 32);
  const bool has_nontemporal = kernel().xts_encrypt_nontemporal != nullptr;
  for (const std::size_t bytes : {16, 17, 31, 32, 100, 255, 256, 257, 1024, 4100}) {
    const Buffer in = hidden_text(bytes);
    support::PlacedBuffer out(bytes);
    for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
      for (const bool nontemporal : {false, true}) {
        if (nontemporal && !has_nontemporal) continue;
        Buffer tweak = hidden_text(16, 5);
        watch("a unit of " + std::to_string(bytes) + " bytes", [&] {
          xts_unit(key, direction, tweak.data(), in.data(), out.data(), bytes, nontemporal);
        });
        expect_hidden(out.span(), "XTS");
      }
    }
  }
}

TEST_P(SecretsInXts, DecideNothingWhenTweaksAreEncrypted) {
  if (kernel().xts_tweaks == nullptr) GTEST_SKIP() << "this kernel encrypts tweaks by ECB";
  const Buffer key_text = hidden_key(32);
  const CipherKey key(kernel(), key_text.data(), 32);
  const Buffer number = support::pattern(16, 250);
  for (const std::size_t units : {1, 2, 15, 16, 17, 33, 100}) {
    Buffer tweaks(16 * (units + xts_tweak_group));
    watch(std::to_string(units) + " tweaks",
          [&] { kernel().xts_tweaks(key.schedule, number.data(), tweaks.data(), units); });
    expect_hidden(Bytes(tweaks).first(16 * units), "tweaks");
  }
}

PARAES_FOR_SECRETS(SecretsInXts);

}  // namespace
}  // namespace paraes::ct
