// Messages with a key each that the call expands, and what a Gcm makes when it is first needed.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <thread>

#include "paraes/ciphers.hpp"
#include "paraes/error.hpp"
#include "src/kernels/kernel.hpp"
#include "tests/support/buffers.hpp"
#include "tests/support/evp_oracle.hpp"
#include "tests/support/kernels.hpp"
#include "tests/support/message_of.hpp"

namespace paraes {
namespace {

using support::Buffer;
using support::difference;
using support::make_key;
using support::pattern;

// A message with all that its call needs.
struct Given {
  Buffer key, nonce, aad, plain, out, tag;
  support::Sealed sealed;
};

// Sizes around those at which a message is processed in another way.
Given make_given(std::mt19937& random, bool common) {
  const auto pick = [&](const std::vector<std::size_t>& of) { return of[random() % of.size()]; };
  const auto seed = static_cast<unsigned>(random() % 1000);
  Given given;
  given.key = make_key(common ? 16 : pick({16, 24, 32}), seed);
  given.nonce = pattern(common ? 12 : pick({12, 12, 12, 8, 60, 128}), seed);
  given.aad = pattern(common ? 0 : pick({0, 0, 1, 16, 100, 16384, 16385, 20000}), seed + 1);
  given.plain = pattern(common ? pick({16, 16, 16, 16, 48, 64, 256})
                               : pick({0, 1, 16, 64, 560, 561, 2048, 2049, 16384, 16385, 70000}),
                        seed + 2);
  given.out.assign(given.plain.size(), 0x5a);
  given.tag.assign(16, 0x5a);
  given.sealed = support::evp_gcm_encrypt(given.key, given.nonce, given.aad, given.plain);
  return given;
}

std::vector<Given> make_list(std::size_t count, unsigned seed, bool common) {
  std::mt19937 random(seed);
  std::vector<Given> list;
  for (std::size_t i = 0; i < count; ++i) list.push_back(make_given(random, common));
  return list;
}

std::vector<KeyedGcmText> texts_of(std::vector<Given>& list, Direction direction) {
  std::vector<KeyedGcmText> texts;
  for (Given& given : list) {
    GcmText text{.nonce = given.nonce, .aad = given.aad, .in = given.plain, .out = given.out};
    if (direction == Direction::encrypt) {
      text.tag = given.tag;
    } else {
      text.in = given.sealed.text;
      text.expected_tag = given.sealed.tag;
    }
    texts.push_back({given.key, text});
  }
  return texts;
}

class KeyedTexts : public support::KernelTest {
 protected:
  [[nodiscard]] Execution on(int threads) const {
    return {.kernel = std::string(kernel().name), .threads = threads};
  }
};

TEST_P(KeyedTexts, MatchOpenSsl) {
  for (const bool common : {true, false}) {
    for (const std::size_t count : {0, 1, 4, 15, 16, 17, 40}) {
      for (const int threads : {1, 3}) {
        std::vector<Given> list = make_list(count, static_cast<unsigned>(count), common);
        std::vector<KeyedGcmText> texts = texts_of(list, Direction::encrypt);
        Gcm::encrypt_keyed(texts, on(threads));
        for (const Given& given : list) {
          ASSERT_EQ(difference(given.out, given.sealed.text), "");
          ASSERT_EQ(difference(given.tag, given.sealed.tag), "");
        }
        texts = texts_of(list, Direction::decrypt);
        Gcm::decrypt_keyed(texts, on(threads));
        for (std::size_t i = 0; i < count; ++i) {
          ASSERT_TRUE(texts[i].text.intact);
          ASSERT_EQ(difference(list[i].out, list[i].plain), "");
        }
      }
    }
  }
}

TEST_P(KeyedTexts, WorkInPlace) {
  for (const bool common : {true, false}) {
    std::vector<Given> list = make_list(40, 7, common);
    for (Given& given : list) given.out = given.plain;
    std::vector<KeyedGcmText> texts = texts_of(list, Direction::encrypt);
    for (std::size_t i = 0; i < list.size(); ++i) texts[i].text.in = list[i].out;
    Gcm::encrypt_keyed(texts, on(1));
    for (const Given& given : list) ASSERT_EQ(difference(given.out, given.sealed.text), "");
    texts = texts_of(list, Direction::decrypt);
    for (std::size_t i = 0; i < list.size(); ++i) texts[i].text.in = list[i].out;
    Gcm::decrypt_keyed(texts, on(1));
    for (const Given& given : list) ASSERT_EQ(difference(given.out, given.plain), "");
  }
}

TEST_P(KeyedTexts, NoPlaintextIsLeftOfAMessageThatIsNotIntact) {
  for (const bool common : {true, false}) {
    std::vector<Given> list = make_list(40, 3, common);
    for (std::size_t i = 0; i < list.size(); i += 3) list[i].sealed.tag[i % 16] ^= 1;
    std::vector<KeyedGcmText> texts = texts_of(list, Direction::decrypt);
    for (KeyedGcmText& keyed : texts) keyed.text.intact = true;
    Gcm::decrypt_keyed(texts, on(1));
    for (std::size_t i = 0; i < list.size(); ++i) {
      ASSERT_EQ(texts[i].text.intact, i % 3 != 0) << i;
      const Buffer nothing(list[i].plain.size());
      ASSERT_EQ(difference(list[i].out, i % 3 == 0 ? nothing : list[i].plain), "") << i;
    }
  }
}

PARAES_FOR_EVERY_KERNEL(KeyedTexts);

// Everything is checked before anything is written.
void expect_refused(const std::vector<KeyedGcmText>& texts, const Execution& execution,
                    const std::string& word) {
  for (const auto call : {&Gcm::encrypt_keyed, &Gcm::decrypt_keyed}) {
    std::vector<KeyedGcmText> copies = texts;
    for (KeyedGcmText& keyed : copies) keyed.text.intact = true;
    EXPECT_TRUE(support::throws<InvalidArgument>([&] { call(copies, execution); }, word));
  }
}

TEST(KeyedTextArguments, AreCheckedBeforeAnythingIsWritten) {
  std::vector<Given> list = make_list(20, 1, true);
  std::vector<KeyedGcmText> texts = texts_of(list, Direction::encrypt);
  for (std::size_t i = 0; i < list.size(); ++i) texts[i].text.expected_tag = list[i].sealed.tag;
  auto changed = texts;
  changed.back().key = Bytes(list.back().key).first(15);
  expect_refused(changed, {}, "not 15");
  changed = texts;
  changed.back().text.nonce = {};
  expect_refused(changed, {}, "nonce");
  changed = texts;
  changed.back().text.out = MutableBytes(list.back().out).first(1);
  expect_refused(changed, {}, "room for 1");
  expect_refused(texts, {.device = "cuda:0"}, "cuda:0");
  expect_refused(texts, {.threads = -1}, "-1");
  expect_refused(texts, {.kernel = "no-such"}, "no-such");
  for (const Given& given : list) {
    EXPECT_EQ(given.out, Buffer(given.plain.size(), 0x5a));
    EXPECT_EQ(given.tag, Buffer(16, 0x5a));
  }
}

// Several threads may make them at once, of which one set is kept.
TEST(GcmOfManyThreads, MakesTheTablesForLongMessagesWhenNeeded) {
  const Buffer key = make_key(32);
  const Buffer nonce = pattern(12);
  const Buffer plain = pattern(20000);
  const support::Sealed expected = support::evp_gcm_encrypt(key, nonce, {}, plain);
  for (int round = 0; round < 20; ++round) {
    Gcm gcm(key);
    std::vector<Buffer> outs(4, Buffer(plain.size() + 16));
    std::vector<std::thread> threads;
    for (Buffer& out : outs) {
      threads.emplace_back([&gcm, &nonce, &plain, &out] {
        gcm.encrypt(nonce, {}, plain, MutableBytes(out).first(plain.size()),
                    MutableBytes(out).last(16));
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const Buffer& out : outs) {
      ASSERT_EQ(difference(Bytes(out).first(plain.size()), expected.text), "");
      ASSERT_EQ(difference(Bytes(out).last(16), expected.tag), "");
    }
  }
}

}  // namespace
}  // namespace paraes
