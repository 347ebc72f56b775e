// Ciphers by the C API: random messages beside OpenSSL, messages in place, many in one call.

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <vector>

#include "paraes/error.hpp"
#include "tests/c/c_api.hpp"
#include "tests/support/buffers.hpp"
#include "tests/support/evp_oracle.hpp"

namespace paraes {
namespace {

using support::Buffer;
using support::call;
using support::difference;
using support::make_key;
using support::pattern;

// Messages, keys and nonces that a seed decides.
class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}

  std::size_t number(std::size_t least, std::size_t most) {
    return std::uniform_int_distribution<std::size_t>(least, most)(engine_);
  }
  Buffer bytes(std::size_t count) {
    Buffer made(count);
    for (std::uint8_t& byte : made) byte = static_cast<std::uint8_t>(engine_());
    return made;
  }
  // Mostly short, as mistakes are where blocks and batches end.
  std::size_t length() { return number(0, 9) == 0 ? number(0, 4096) : number(0, 300); }
  Buffer aes_key() { return bytes(16 + 8 * number(0, 2)); }

 private:
  std::mt19937 engine_;
};

void compare_gcm(Random& random) {
  const Buffer key = random.aes_key();
  const Buffer nonce = random.bytes(random.number(0, 3) == 0 ? random.number(8, 40) : 12);
  const Buffer aad = random.bytes(random.number(0, 60));
  const Buffer plain = random.bytes(random.length());
  const auto gcm = support::new_gcm(key);
  const support::Sealed expected = support::evp_gcm_encrypt(key, nonce, aad, plain);
  Buffer out(plain.size());
  Buffer tag(16);
  ASSERT_DONE(call(paraes_gcm_encrypt, gcm, nonce, aad, plain, out.data(), tag.data()));
  ASSERT_EQ(difference(out, expected.text), "");
  ASSERT_EQ(difference(tag, Bytes(expected.tag)), "");
  ASSERT_DONE(call(paraes_gcm_decrypt, gcm, nonce, aad, out, out.data(), tag.data(), 16));
  ASSERT_EQ(difference(out, plain), "") << "in place";

  // Decryption takes any nonce, and tags that are cut.
  const Buffer short_nonce = random.bytes(random.number(1, 7));
  const support::Sealed other = support::evp_gcm_encrypt(key, short_nonce, aad, plain);
  const std::size_t tag_sizes[] = {4, 8, 12, 13, 14, 15, 16};
  const std::size_t tag_bytes = tag_sizes[random.number(0, 6)];
  Buffer cut(other.tag.begin(), other.tag.begin() + static_cast<std::ptrdiff_t>(tag_bytes));
  cut.resize(16);  // what follows is not part of it
  ASSERT_DONE(call(paraes_gcm_decrypt, gcm, short_nonce, aad, other.text, out.data(), cut.data(),
                   tag_bytes));
  ASSERT_EQ(difference(out, plain), "") << "short nonce and tag";

  // Encrypts once more, with the tag behind the text.
  Buffer joined(plain);
  joined.resize(plain.size() + 16);
  ASSERT_DONE(call(paraes_gcm_encrypt_into, gcm, nonce, aad, joined.data(), plain.size(), joined));
  ASSERT_EQ(difference(Bytes(joined).first(plain.size()), expected.text), "");
  ASSERT_EQ(difference(Bytes(joined).last(16), Bytes(expected.tag)), "");
  ASSERT_DONE(call(paraes_gcm_decrypt_into, gcm, nonce, aad, joined, joined.data(), plain.size()));
  joined.resize(plain.size());
  ASSERT_EQ(difference(joined, plain), "");
}

void compare_blocks(Random& random) {
  const Buffer key = random.aes_key();
  const Buffer iv = random.bytes(16);
  const auto block = support::new_block(key);
  const Buffer plain = random.bytes(random.length());
  Buffer out(plain.size());
  const Buffer stream = support::evp_ctr(key, iv, plain);
  // From any place of the stream on.
  const std::size_t from = random.number(0, plain.size());
  ASSERT_DONE(paraes_ctr(block.get(), iv.data(), from, plain.data() + from, plain.size() - from,
                         out.data() + from));
  ASSERT_DONE(paraes_ctr(block.get(), iv.data(), 0, plain.data(), from, out.data()));
  ASSERT_EQ(difference(out, stream), "");

  const Buffer whole = random.bytes(random.length() / 16 * 16);
  out.resize(whole.size());
  ASSERT_DONE(call(paraes_cbc_encrypt, block, iv.data(), whole, out.data()));
  ASSERT_EQ(difference(out, support::evp_cbc(Direction::encrypt, key, iv, whole)), "");
  ASSERT_DONE(call(paraes_cbc_decrypt, block, iv.data(), out, out.data()));
  ASSERT_EQ(difference(out, whole), "");
  ASSERT_DONE(call(paraes_ecb_encrypt, block, whole, out.data()));
  ASSERT_EQ(difference(out, support::evp_ecb(Direction::encrypt, key, whole)), "");
  ASSERT_DONE(call(paraes_ecb_decrypt, block, out, out.data()));
  ASSERT_EQ(difference(out, whole), "");
}

void compare_xts(Random& random) {
  const Buffer key = random.bytes(random.number(0, 1) == 0 ? 32 : 64);
  const Buffer unit = random.bytes(16);
  const std::size_t unit_bytes = random.number(0, 2) == 0 ? random.number(16, 600) : 0;
  const auto xts = support::new_xts(key, unit_bytes);
  const Buffer plain = random.bytes(16 + random.length());
  Buffer out(plain.size());
  ASSERT_DONE(call(paraes_xts_encrypt, xts, unit.data(), plain, out.data()));
  ASSERT_EQ(difference(out, support::evp_xts(Direction::encrypt, key, unit, unit_bytes, plain)),
            "");
  ASSERT_DONE(call(paraes_xts_decrypt, xts, unit.data(), out, out.data()));
  ASSERT_EQ(difference(out, plain), "");
}

// Each round compares ten results with OpenSSL's or with the plaintext.
TEST(Ciphers, RandomMessages_Match100000Results) {
  Random random(20261129);
  for (int round = 0; round < 11'200; ++round) {
    SCOPED_TRACE(round);
    ASSERT_NO_FATAL_FAILURE(compare_gcm(random));
    ASSERT_NO_FATAL_FAILURE(compare_blocks(random));
    ASSERT_NO_FATAL_FAILURE(compare_xts(random));
  }
}

TEST(Ciphers, CbcCallsContinueAMessage) {
  const Buffer key = make_key(32);
  const Buffer iv = pattern(16, 9);
  const Buffer plain = pattern(160);
  const auto block = support::new_block(key);
  Buffer out(plain.size());
  ASSERT_DONE(paraes_cbc_encrypt(block.get(), iv.data(), plain.data(), 48, out.data()));
  ASSERT_DONE(
      paraes_cbc_encrypt(block.get(), out.data() + 32, plain.data() + 48, 112, out.data() + 48));
  EXPECT_EQ(difference(out, support::evp_cbc(Direction::encrypt, key, iv, plain)), "");
}

TEST(Ciphers, GcmThatIsNotIntact_GivesZeros) {
  const auto gcm = support::new_gcm(make_key(16));
  const Buffer nonce = pattern(12);
  const Buffer plain = pattern(100);
  Buffer out(116);
  ASSERT_DONE(
      call(paraes_gcm_encrypt_into, gcm, nonce.data(), 12, nullptr, 0, plain.data(), 100, out));
  out[3] ^= 1;
  Buffer opened(100, 0xee);
  EXPECT_FAILS(PARAES_INTEGRITY_ERROR, call(paraes_gcm_decrypt_into, gcm, nonce.data(), 12, nullptr,
                                            0, out.data(), 116, opened));
  EXPECT_EQ(opened, Buffer(100));
  opened.assign(100, 0xee);
  EXPECT_FAILS(PARAES_INTEGRITY_ERROR,
               paraes_gcm_decrypt(gcm.get(), nonce.data(), 12, nullptr, 0, out.data(), 100,
                                  opened.data(), out.data() + 100, 16));
  EXPECT_EQ(opened, Buffer(100));
}

// A caller's structure of a later version.
struct LargerMessage {
  paraes_gcm_message message;
  std::uint64_t more[3];
};

class ManyMessages : public testing::TestWithParam<unsigned> {
 protected:
  // Messages of all sizes; associated data, long nonces and short tags prevent interleaving.
  void SetUp() override {
    Random random(7);
    for (std::size_t i = 0; i < 1500; ++i) {
      plain_.push_back(random.bytes(i % 70 == 0 ? random.number(0, 70'000) : random.length()));
      nonces_.push_back(random.bytes(i % 11 == 0 ? 16 : 12));
      aads_.push_back(random.bytes(i % 5 == 0 ? random.number(1, 40) : 0));
      out_.emplace_back(plain_.back().size());
      tags_.emplace_back(16);
    }
  }
  std::vector<LargerMessage> messages(bool encrypts) {
    std::vector<LargerMessage> list(plain_.size());
    for (std::size_t i = 0; i < list.size(); ++i) {
      paraes_gcm_message& message = list[i].message;
      message.nonce = nonces_[i].data();
      message.nonce_bytes = nonces_[i].size();
      message.aad = aads_[i].data();
      message.aad_bytes = aads_[i].size();
      message.in = (encrypts ? plain_ : out_)[i].data();
      message.bytes = plain_[i].size();
      message.out = out_[i].data();
      message.tag = tags_[i].data();
      message.tag_bytes = encrypts ? 0 : i % 13 == 0 ? 12 : 16;
      message.code = 99;
    }
    return list;
  }
  int encrypt(const paraes_gcm_key* gcm) {
    auto list = messages(true);
    return paraes_gcm_encrypt_many(gcm, &list[0].message, list.size(), sizeof(LargerMessage));
  }

  std::vector<Buffer> plain_, nonces_, aads_, out_, tags_;
};

TEST_P(ManyMessages, AreThoseOfSingleCalls) {
  const Buffer key = make_key(32);
  paraes_execution execution = PARAES_EXECUTION;
  execution.threads = GetParam();
  const auto gcm = support::new_gcm(key, &execution);
  ASSERT_DONE(encrypt(gcm.get()));
  for (std::size_t i = 0; i < plain_.size(); ++i) {
    const auto expected = support::evp_gcm_encrypt(key, nonces_[i], aads_[i], plain_[i]);
    ASSERT_EQ(difference(out_[i], expected.text), "") << i;
    ASSERT_EQ(difference(tags_[i], Bytes(expected.tag)), "") << i;
  }
  auto list = messages(false);
  ASSERT_DONE(
      paraes_gcm_decrypt_many(gcm.get(), &list[0].message, list.size(), sizeof(LargerMessage)));
  for (std::size_t i = 0; i < plain_.size(); ++i) {
    ASSERT_EQ(difference(out_[i], plain_[i]), "") << i;
    ASSERT_EQ(list[i].message.code, PARAES_OK);
  }
}

TEST_P(ManyMessages, DamagedOnesDoNotStopTheOthers) {
  paraes_execution execution = PARAES_EXECUTION;
  execution.threads = GetParam();
  const auto gcm = support::new_gcm(make_key(16), &execution);
  ASSERT_DONE(encrypt(gcm.get()));
  for (const std::size_t i : {std::size_t{0}, std::size_t{8}, std::size_t{26}}) tags_[i][2] ^= 4;
  auto list = messages(false);
  EXPECT_FAILS(PARAES_INTEGRITY_ERROR, paraes_gcm_decrypt_many(gcm.get(), &list[0].message,
                                                               list.size(), sizeof(LargerMessage)));
  EXPECT_NE(std::string(paraes_error_message()).find("3 of 1500 messages"), std::string::npos);
  for (std::size_t i = 0; i < plain_.size(); ++i) {
    const bool damaged = i == 0 || i == 8 || i == 26;
    EXPECT_EQ(list[i].message.code, damaged ? PARAES_INTEGRITY_ERROR : PARAES_OK) << i;
    EXPECT_EQ(difference(out_[i], damaged ? Buffer(plain_[i].size()) : plain_[i]), "") << i;
  }
}

TEST_P(ManyMessages, WrongOnesDoNotStopTheOthers) {
  const Buffer key = make_key(16);
  const auto gcm = support::new_gcm(key);
  auto list = messages(true);
  list[5].message.nonce_bytes = 7;
  list[70].message.tag = nullptr;
  list[700].more[2] = 1;  // a value that this version does not know
  EXPECT_FAILS(
      PARAES_INVALID_ARGUMENT,
      paraes_gcm_encrypt_many(gcm.get(), &list[0].message, list.size(), sizeof(LargerMessage)));
  EXPECT_NE(
      std::string(paraes_error_message()).find("3 of 1500 messages failed, of which number 5"),
      std::string::npos)
      << paraes_error_message();
  for (std::size_t i = 0; i < plain_.size(); ++i) {
    const bool wrong = i == 5 || i == 70 || i == 700;
    EXPECT_EQ(list[i].message.code, wrong ? PARAES_INVALID_ARGUMENT : PARAES_OK) << i;
    const auto expected = support::evp_gcm_encrypt(key, nonces_[i], aads_[i], plain_[i]);
    ASSERT_EQ(difference(out_[i], wrong ? Buffer(out_[i].size()) : expected.text), "") << i;
  }
  EXPECT_DONE(paraes_gcm_encrypt_many(gcm.get(), nullptr, 0, sizeof(paraes_gcm_message)));
}

INSTANTIATE_TEST_SUITE_P(Threads, ManyMessages, testing::Values(1U, 3U, PARAES_ALL_CORES));

}  // namespace
}  // namespace paraes
