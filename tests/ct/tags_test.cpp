// Comparing tags and commitments: neither value decides a branch or an address before the verdict.

#include <memory>
#include <string>

#include "paraes/known_secrets.hpp"
#include "src/modes/gcm.hpp"
#include "tests/ct/secrets.hpp"

namespace paraes::ct {
namespace {

// Ends at the first difference, as memcmp may.
bool leaky_equal(Bytes a, Bytes b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

TEST(SecretTags, DecideNothingInComparisons) {
  for (std::size_t bytes = 1; bytes <= 64; ++bytes) {
    for (const std::size_t different : {std::size_t{0}, bytes / 2, bytes - 1, bytes}) {
      const Buffer a = hidden_text(bytes, 1);
      Buffer b = support::pattern(bytes, 1);
      if (different < bytes) b[different] ^= 0x80;
      hide(b);
      const unsigned before = reports();
      bool equal = constant_time_equal(a, b);
      EXPECT_EQ(reports(), before) << bytes << " bytes";
      EXPECT_TRUE(is_hidden_verdict(equal)) << bytes << " bytes";
      hide_object(equal);
    }
  }
}

TEST(SecretTags, AreReportedInAComparisonThatEndsEarly) {
  const Buffer a = hidden_text(16, 1);
  const Buffer b = hidden_text(16, 1);
  const unsigned before = reports();
  volatile bool equal = leaky_equal(a, b);
  static_cast<void>(equal);
  EXPECT_GT(reports(), before);
}

// Which of the secrets a file holds is the one answer.
TEST(SecretTags, DecideNothingAmongKnownSecrets) {
  KnownSecrets known;
  const unsigned before = reports();
  known.add_key(hidden_key(32), "a key");
  // White space at its ends is looked for.
  Buffer passphrase = hidden_text(44);
  reveal(MutableBytes(passphrase).first(1));
  reveal(MutableBytes(passphrase).last(1));
  known.add_passphrase(passphrase, "a passphrase");
  EXPECT_EQ(reports(), before);
  Buffer key = hidden_key(32);
  reveal(key);
  // Digits, of which no bit shows that they differ from those of a secret.
  for (const std::size_t bytes : {32U, 43U, 44U, 64U}) {
    Buffer contents(bytes, '0');
    if (bytes == passphrase.size()) {
      contents.front() = passphrase.front();
      contents.back() = passphrase.back();
    }
    const unsigned found = reports();
    static_cast<void>(known.find(contents));
    EXPECT_EQ(reports(), found + 1) << bytes << " bytes";
  }
  const unsigned found = reports();
  EXPECT_TRUE(known.find(key).has_value());
  EXPECT_EQ(reports(), found + 2);  // with the address of the answer
}

class SecretsInTags : public SecretsTest {};

// Right tags and wrong ones, in full and shortened.
TEST_P(SecretsInTags, DecideNothingBeforeTheVerdict) {
  const Buffer key_text = hidden_key(16);
  std::unique_ptr<GcmKey> key;
  watch("the key", [&] { key = std::make_unique<GcmKey>(kernel(), key_text.data(), 16); });
  for (const std::size_t tag_bytes : {4U, 8U, 12U, 13U, 14U, 15U, 16U}) {
    for (const std::size_t different : {std::size_t{0}, tag_bytes - 1, tag_bytes}) {
      Buffer expected = support::pattern(16, 1);
      if (different < tag_bytes) expected[different] ^= 1;
      hide(expected);
      Buffer computed = hidden_text(16, 1);
      GcmMessage message{};
      message.expected_tag = expected.data();
      message.tag_bytes = tag_bytes;
      bool equal = false;
      watch("comparison of " + std::to_string(tag_bytes) + " bytes",
            [&] { equal = verify_and_wipe_tag(computed.data(), message); });
      EXPECT_TRUE(is_hidden_verdict(equal));
      EXPECT_FALSE(is_hidden(computed)) << "the computed tag was not overwritten";
    }
  }
}

PARAES_FOR_SECRETS(SecretsInTags);

}  // namespace
}  // namespace paraes::ct
