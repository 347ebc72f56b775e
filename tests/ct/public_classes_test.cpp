// The public classes and a whole message, with a secret key and a secret text. Between the kernels
// and the caller they check arguments, cut data and derive keys. Two answers are the caller's to
// know, and therefore decide a branch: that the tag matches, and that the halves of an XTS key
// differ.

#include <string_view>
#include <vector>

#include "paraes/ciphers.hpp"
#include "paraes/messages.hpp"
#include "paraes/segments.hpp"
#include "tests/ct/secrets.hpp"
#include "tests/support/operations.hpp"

namespace paraes::ct {
namespace {

class SecretsInPublicClasses : public SecretsTest {};

// Whether the halves of an XTS key differ, and whether a tag is right.
unsigned verdicts_of(const support::Operation& operation) {
  const std::string_view name = operation.name;
  return name.starts_with("XTS") || name == "GCM decrypt" ? 1 : 0;
}

// Two threads share texts that are long enough.
TEST_P(SecretsInPublicClasses, DecideOnlyVerdictsInEveryMode) {
  for (const support::Operation& operation : support::all_operations()) {
    for (const std::size_t key_bytes : operation.key_bytes) {
      // GCM has nonces of 12 bytes and others.
      for (const std::size_t about : {17U, 33U, 400U, 4098U, 40001U}) {
        const std::size_t bytes = about / operation.step * operation.step;
        support::Task task = operation.prepare(operation.direction, bytes, key_bytes);
        if (!task.out_tag.empty() && bytes % 2 == 0) task.iv = support::pattern(33);
        for (Buffer* secret : {&task.key, &task.aad, &task.in}) hide(*secret);
        Buffer out(bytes);
        Buffer tag(16);
        watch(operation.name, verdicts_of(operation), [&] {
          operation.run(operation.direction, execution(2), task.inputs(), task.in, out, tag);
        });
        expect_hidden(out, operation.name);
        if (!task.out_tag.empty()) expect_hidden(tag, operation.name);
      }
    }
  }
}

TEST_P(SecretsInPublicClasses, DecideNothingInCtrFromAnyOffset) {
  const Buffer key = hidden_key(32);
  for (const std::size_t bytes : {1U, 15U, 500U, 40000U}) {
    const Buffer in = hidden_text(bytes);
    Buffer out(bytes);
    for (const std::uint64_t offset : {3U, 5U, 4096U}) {
      Ctr cipher(key, support::pattern(16, 240), execution(2));
      watch("CTR", [&] {
        cipher.seek(offset);
        cipher.process(in, out);
      });
      expect_hidden(out, "CTR");
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
    watch("opening", 4, [&] { message.cipher().crypt(Direction::decrypt, segments); });
    watch("the commitment", 1, [&] { static_cast<void>(open_paraes_message(header, key, {})); });
  }
}

PARAES_FOR_SECRETS(SecretsInPublicClasses);

}  // namespace
}  // namespace paraes::ct
