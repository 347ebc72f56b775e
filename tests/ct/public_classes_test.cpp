// The public classes and a whole message, with a secret key and a secret text. Between the kernels
// and the caller they check arguments, cut data and derive keys. Two answers are the caller's to
// know, and therefore decide a branch: that the tag matches, and that the halves of an XTS key
// differ.

#include <string>
#include <vector>

#include "paraes/ciphers.hpp"
#include "paraes/error.hpp"
#include "paraes/messages.hpp"
#include "paraes/segments.hpp"
#include "tests/ct/secrets.hpp"

namespace paraes::ct {
namespace {

constexpr std::size_t text_sizes[] = {16, 32, 400, 4096, 40000};

class SecretsInPublicClasses : public SecretsTest {
 protected:
  // Two threads share texts that are long enough.
  [[nodiscard]] Execution two_threads() const { return execution(2); }

  // Checks that `work` branches on a secret so many times, and no more: on its verdicts.
  template <class Work>
  void expect_verdicts(unsigned verdicts, const Work& work) {
    const unsigned before = reports();
    work();
    if (!is_control()) {
      EXPECT_EQ(reports() - before, verdicts);
    }
  }
};

TEST_P(SecretsInPublicClasses, DecideNothingInUnauthenticatedModes) {
  const Buffer iv = support::pattern(16, 1);
  for (const std::size_t key_bytes : {16U, 24U, 32U}) {
    const Buffer key = hidden_key(key_bytes);
    for (const std::size_t bytes : text_sizes) {
      const Buffer in = hidden_text(bytes);
      Buffer out(bytes);
      watch("ECB", [&] {
        Ecb cipher(key, two_threads());
        cipher.encrypt(in, out);
        cipher.decrypt(in, out);
      });
      watch("CBC", [&] {
        Cbc cipher(key, iv, two_threads());
        cipher.encrypt(in, out);
        cipher.reset(iv);
        cipher.decrypt(in, out);
      });
      watch("CTR", [&] {
        Ctr cipher(key, iv, two_threads());
        cipher.seek(3);
        cipher.process(in, out);
      });
      expect_hidden(out, "CTR");
    }
  }
}

// One report is the answer whether the two halves differ.
TEST_P(SecretsInPublicClasses, DecideOneBranchInXts) {
  const Buffer key = hidden_key(64);
  expect_verdicts(1, [&] { Xts(key, 512, two_threads()); });
  Xts cipher(key, 512, two_threads());
  for (const std::size_t bytes : text_sizes) {
    const Buffer in = hidden_text(bytes);
    Buffer out(bytes);
    watch("XTS", [&] {
      cipher.encrypt(support::pattern(16), in, out);
      cipher.decrypt(support::pattern(16), in, out);
    });
    expect_hidden(out, "XTS");
  }
}

TEST_P(SecretsInPublicClasses, DecideOnlyTheVerdictInGcm) {
  const Buffer key = hidden_key(32);
  for (const std::size_t nonce_bytes : {12U, 8U, 33U}) {
    const Buffer nonce = support::pattern(nonce_bytes);
    for (const std::size_t bytes : text_sizes) {
      const Buffer in = hidden_text(bytes);
      Buffer sealed(bytes);
      Buffer out(bytes);
      Buffer tag(16);
      watch("GCM encryption",
            [&] { Gcm(key, two_threads()).encrypt(nonce, hidden_text(7), in, sealed, tag); });
      expect_hidden(sealed, "GCM");
      expect_hidden(tag, "GCM");
      Gcm cipher(key, two_threads());
      expect_verdicts(1, [&] { cipher.decrypt(nonce, hidden_text(7), sealed, out, tag); });
    }
  }
}

// From the input key through HKDF to the ciphertext. Opening has one answer for the commitment, and
// one for each segment's tag.
TEST_P(SecretsInPublicClasses, DecideOnlyTheVerdictsInAMessage) {
  for (const std::size_t key_bytes : {16U, 32U}) {
    const Buffer key = hidden_key(key_bytes);
    Message::Parts parts;
    watch("deriving the message's key",
          [&] { parts = new_paraes_message(Preface::for_key(key_bytes), key, {}); });
    reveal(parts.header);  // with the commitment, which is derived from the key and published
    const Buffer header = parts.header;
    // Kernels treat nonces as public (SP 800-38D needs them unique, not secret), and branch on
    // them. This one comes from the key, but HKDF makes it independent of the key that encrypts.
    reveal(parts.secret.base_nonce);
    const Message message(std::move(parts), execution());
    const std::size_t plain_bytes = 3 * message.layout().segment_bytes + 100;
    ASSERT_EQ(message.layout().segments_of(plain_bytes), 4U);
    std::vector<Buffer> texts;
    std::vector<SegmentCipher::Segment> segments(4);
    for (std::size_t i = 0; i < 4; ++i) {
      const std::size_t bytes = i == 3 ? 100 : message.layout().segment_bytes;
      texts.push_back(hidden_text(bytes));
      texts.push_back(Buffer(bytes + segment_tag_bytes));
    }
    for (std::size_t i = 0; i < 4; ++i) {
      segments[i] = {.index = i, .last = i == 3, .in = texts[2 * i], .out = texts[2 * i + 1]};
    }
    watch("sealing", [&] { message.cipher().crypt(Direction::encrypt, segments); });
    for (std::size_t i = 0; i < 4; ++i) {
      expect_hidden(texts[2 * i + 1], "a segment");
      segments[i] = {.index = i, .last = i == 3, .in = texts[2 * i + 1], .out = texts[2 * i]};
    }
    expect_verdicts(4, [&] { message.cipher().crypt(Direction::decrypt, segments); });
    expect_verdicts(1, [&] { static_cast<void>(open_paraes_message(header, key, {})); });
  }
}

PARAES_FOR_SECRETS(SecretsInPublicClasses);

}  // namespace
}  // namespace paraes::ct
