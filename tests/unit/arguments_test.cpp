// Invalid arguments of the public cipher classes: the error names the limit and the standard that
// sets it, and nothing is written.

#include <gtest/gtest.h>

#include <functional>

#include "paraes/ciphers.hpp"
#include "paraes/error.hpp"
#include "paraes/segments.hpp"
#include "paraes/threads.hpp"
#include "tests/support/buffers.hpp"
#include "tests/support/evp_oracle.hpp"
#include "tests/support/kernels.hpp"
#include "tests/support/message_of.hpp"
#include "tests/support/operations.hpp"

namespace paraes {
namespace {

using support::Buffer;
using support::difference;
using support::make_key;
using support::pattern;

// Expects that `call` throws InvalidArgument with a message that contains all of `words`.
void expect_refused(const std::function<void()>& call, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    EXPECT_TRUE(support::throws<InvalidArgument>(call, word));
  }
}

const Buffer key16 = make_key(16);
const Buffer key32 = make_key(32);
const Buffer block = pattern(16);

TEST(Arguments, AesKeyOfWrongSize_IsRefused) {
  for (const std::size_t bytes : {0, 1, 15, 17, 23, 25, 31, 33, 48, 64}) {
    const Buffer key = make_key(bytes);
    const std::vector<std::string> words = {"16, 24 or 32", "FIPS 197", std::to_string(bytes)};
    expect_refused([&] { Ecb{key}; }, words);
    expect_refused([&] { Cbc(key, block); }, words);
    expect_refused([&] { Ctr(key, block); }, words);
    expect_refused([&] { Gcm{key}; }, words);
  }
}

TEST(Arguments, XtsKeyOfWrongSizeOrWithEqualHalves_IsRefused) {
  expect_refused([] { Xts{make_key(48)}; }, {"AES-192", "SP 800-38E", "48"});
  for (const std::size_t bytes : {0, 16, 24, 31, 33, 63, 65, 128}) {
    expect_refused([&] { Xts{make_key(bytes)}; }, {"32", "64", "IEEE 1619", std::to_string(bytes)});
  }
  for (const std::size_t half : {16, 32}) {
    Buffer key = make_key(half);
    key.insert(key.end(), key.begin(), key.begin() + static_cast<std::ptrdiff_t>(half));
    expect_refused([&] { Xts{key}; }, {"halves", "differ"});
    key.back() ^= 1;
    EXPECT_NO_THROW(Xts{key});
  }
}

TEST(Arguments, IvOrCounterOfWrongSize_IsRefused) {
  for (const std::size_t bytes : {0, 12, 15, 17, 32}) {
    const Buffer iv = pattern(bytes);
    expect_refused([&] { Cbc(key16, iv); }, {"16 bytes", std::to_string(bytes)});
    expect_refused([&] { Ctr(key16, iv); }, {"16 bytes", std::to_string(bytes)});
    Cbc cbc(key16, block);
    expect_refused([&] { cbc.reset(iv); }, {"16 bytes"});
    Xts xts(key32);
    Buffer data(64);
    expect_refused([&] { xts.encrypt(iv, data, data); }, {"16 bytes"});
    expect_refused([&] { xts.decrypt(iv, data, data); }, {"16 bytes"});
  }
}

TEST(Arguments, EcbAndCbc_RefusePartialBlocks) {
  Ecb ecb(key16);
  Cbc cbc(key16, block);
  for (const std::size_t bytes : {1, 15, 17, 31, 1000}) {
    Buffer data(bytes);
    expect_refused([&] { ecb.encrypt(data, data); },
                   {"SP 800-38A", "16-byte", std::to_string(bytes)});
    expect_refused([&] { ecb.decrypt(data, data); }, {"SP 800-38A", "16-byte"});
    expect_refused([&] { cbc.encrypt(data, data); }, {"SP 800-38A", "16-byte"});
    expect_refused([&] { cbc.decrypt(data, data); }, {"SP 800-38A", "16-byte"});
  }
}

TEST(Arguments, XtsUnitOrLengthOutOfRange_IsRefused) {
  for (const std::size_t unit : {std::size_t{1}, std::size_t{15}, (std::size_t{1} << 24) + 1}) {
    expect_refused([&] { Xts(key32, unit); }, {"16 bytes", "2^20 blocks", std::to_string(unit)});
  }
  EXPECT_NO_THROW(Xts(key32, 16));
  EXPECT_NO_THROW(Xts(key32, std::size_t{1} << 24));
  Xts xts(key32);
  for (const std::size_t bytes : {0, 1, 15}) {
    Buffer data(bytes);
    expect_refused([&] { xts.encrypt(block, data, data); }, {"IEEE 1619", std::to_string(bytes)});
    expect_refused([&] { xts.decrypt(block, data, data); }, {"IEEE 1619", std::to_string(bytes)});
  }
  // A unit has at most 2^20 blocks, and that includes a rest that joins the last unit.
  Buffer data((std::size_t{1} << 24) + 15);
  Xts one(key32, 0);
  expect_refused([&] { one.encrypt(block, data, data); }, {"2^20 blocks", "SP 800-38E section 4"});
  Xts largest(key32, std::size_t{1} << 24);
  expect_refused([&] { largest.encrypt(block, data, data); },
                 {"2^20 blocks", "SP 800-38E section 4"});
  data.resize(std::size_t{1} << 24);
  EXPECT_NO_THROW(one.encrypt(block, data, data));
}

TEST(Arguments, GcmNonceOrTagOfWrongSize_IsRefused) {
  Gcm gcm(key16);
  Buffer data(20);
  Buffer tag(16);
  const Buffer nonce = pattern(12);
  for (const std::size_t bytes : {0, 1, 7}) {
    expect_refused([&] { gcm.encrypt(pattern(bytes), {}, data, data, tag); },
                   {"8 bytes or more", "SP 800-38D", std::to_string(bytes)});
  }
  for (const std::size_t bytes : {0, 4, 12, 15, 17, 32}) {
    Buffer other(bytes);
    expect_refused([&] { gcm.encrypt(nonce, {}, data, data, other); },
                   {"16 bytes", std::to_string(bytes)});
  }
  expect_refused([&] { gcm.decrypt({}, {}, data, data, tag); },
                 {"nonce", "SP 800-38D section 5.2.1.1"});
  for (const std::size_t bytes : {0, 1, 2, 3, 5, 6, 7, 9, 10, 11, 17, 32}) {
    expect_refused(
        [&] { gcm.decrypt(nonce, {}, data, data, Buffer(bytes)); },
        {"4, 8, 12, 13, 14, 15 or 16", "SP 800-38D section 5.2.1.2", std::to_string(bytes)});
  }
  EXPECT_EQ(data, Buffer(20)) << "something was written";
}

// The limits are checked before any byte is read or written: these are where no memory is.
class TooLong : public testing::Test {
 protected:
  const support::GuardedBuffer guard_{1};
  std::uint8_t* const nowhere_ = guard_.place(0, support::GuardedBuffer::Flush::end).data();
};

TEST_F(TooLong, GcmText_IsRefused) {
  Gcm gcm(key16);
  Buffer tag(16, 0x5a);
  const Buffer nonce = pattern(12);
  for (const std::size_t bytes : {(std::size_t{1} << 36) - 31, std::size_t{1} << 36}) {
    const MutableBytes text(nowhere_, bytes);
    const std::vector<std::string> words = {"2^36 - 32", "SP 800-38D section 5.2.1.1",
                                            std::to_string(bytes)};
    expect_refused([&] { gcm.encrypt(nonce, {}, text, text, tag); }, words);
    expect_refused([&] { gcm.decrypt(nonce, {}, text, text, tag); }, words);
  }
  EXPECT_EQ(tag, Buffer(16, 0x5a)) << "something was written";
}

TEST_F(TooLong, GcmAadOrNonce_IsRefused) {
  Gcm gcm(key16);
  Buffer text(64, 0x5a);
  Buffer tag(16, 0x5a);
  const Buffer nonce = pattern(12);
  for (const std::size_t bytes : {std::size_t{1} << 61, SIZE_MAX}) {
    const Bytes data(nowhere_, bytes);
    const std::vector<std::string> words = {"2^61 - 1", "SP 800-38D section 5.2.1.1"};
    expect_refused([&] { gcm.encrypt(nonce, data, text, text, tag); }, words);
    expect_refused([&] { gcm.decrypt(nonce, data, text, text, tag); }, words);
    expect_refused([&] { gcm.encrypt(data, {}, text, text, tag); }, words);
    expect_refused([&] { gcm.decrypt(data, {}, text, text, tag); }, words);
  }
  EXPECT_EQ(text, Buffer(64, 0x5a)) << "something was written";
  EXPECT_EQ(tag, Buffer(16, 0x5a)) << "something was written";
}

TEST_F(TooLong, Segment_IsRefusedBeforeAnyIsProcessed) {
  const SegmentCipher cipher(key16, pattern(12), SegmentCipher::Nonces::counted, {});
  for (const std::size_t bytes : {(std::size_t{1} << 36) - 31, std::size_t{1} << 36}) {
    for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
      const bool seals = direction == Direction::encrypt;
      const std::size_t more_in = seals ? 0 : segment_tag_bytes;
      const std::size_t more_out = seals ? segment_tag_bytes : 0;
      Buffer good(100 + more_in);
      Buffer out(100 + more_out, 0x5a);
      SegmentCipher::Segment segments[] = {
          {.index = 0, .in = good, .out = out},
          {.index = 1, .in = {nowhere_, bytes + more_in}, .out = {nowhere_, bytes + more_out}}};
      CipherSegment entries[] = {{&cipher, segments[0]}, {&cipher, segments[1]}};
      const std::vector<std::string> words = {"2^36 - 32", "SP 800-38D section 5.2.1.1",
                                              std::to_string(bytes)};
      expect_refused([&] { cipher.crypt(direction, segments); }, words);
      expect_refused([&] { SegmentCipher::crypt(direction, entries); }, words);
      EXPECT_FALSE(segments[0].done);
      EXPECT_EQ(out, Buffer(out.size(), 0x5a)) << "a segment was processed before the check";
    }
  }
}

TEST(Arguments, ThreadCountOutOfRange_IsRefused) {
  for (const int threads : {-1, -100, 4097}) {
    expect_refused([&] { Ecb(key16, {"", threads}); }, {"threads", std::to_string(threads)});
  }
  EXPECT_EQ(Ecb(key16, {"", 0}).threads(), available_cores());
  for (const int threads : {5, 4096}) EXPECT_EQ(Ecb(key16, {"", threads}).threads(), threads);
}

class CipherCalls : public support::KernelTest {};

TEST_P(CipherCalls, BuffersOfDifferentSizes_AreRefused) {
  for (const support::Operation& operation : support::all_operations()) {
    SCOPED_TRACE(operation.name);
    const support::Task task = operation.prepare(operation.direction, 64, operation.key_bytes[0]);
    for (const std::size_t bytes : {48, 80}) {
      Buffer out(bytes, 0x77);
      Buffer tag(16, 0x77);
      expect_refused(
          [&] {
            operation.run(operation.direction, execution(), task.inputs(), task.in, out, tag);
          },
          {"64", std::to_string(bytes)});
      EXPECT_EQ(out, Buffer(bytes, 0x77)) << "something was written";
      EXPECT_EQ(tag, Buffer(16, 0x77)) << "something was written";
    }
  }
}

TEST_P(CipherCalls, BuffersThatOverlapPartially_AreRefused) {
  constexpr std::size_t n = 256;
  for (const support::Operation& operation : support::all_operations()) {
    SCOPED_TRACE(operation.name);
    const support::Task task = operation.prepare(operation.direction, n, operation.key_bytes[0]);
    for (const std::ptrdiff_t distance : {1, 15, 16, 128, 255, -1, -16, -255}) {
      Buffer memory(3 * n, 0x77);
      std::copy(task.in.begin(), task.in.end(), memory.begin() + n);
      const Buffer before(memory);
      const Bytes in(memory.data() + n, n);
      const MutableBytes out(memory.data() + n + distance, n);
      Buffer tag(16);
      expect_refused(
          [&] { operation.run(operation.direction, execution(), task.inputs(), in, out, tag); },
          {"overlap"});
      EXPECT_EQ(memory, before) << "something was written";
    }
    // Adjacent buffers do not overlap.
    for (const std::ptrdiff_t distance : {256, -256}) {
      Buffer memory(3 * n);
      std::copy(task.in.begin(), task.in.end(), memory.begin() + n);
      EXPECT_EQ(run_task(operation, task, execution(), {memory.data() + n, n},
                         {memory.data() + n + distance, n}),
                "");
    }
  }
}

TEST_P(CipherCalls, EmptyBuffers_AreAccepted) {
  Buffer tag(16);
  Ecb(key16, execution()).encrypt({}, {});
  Cbc(key16, block, execution()).encrypt({}, {});
  Cbc(key16, block, execution()).decrypt({}, {});
  Ctr(key16, block, execution()).process({}, {});
  Gcm gcm(key16, execution());
  gcm.encrypt(pattern(12), {}, {}, {}, tag);
  gcm.decrypt(pattern(12), {}, {}, {}, tag);
  const auto expected = support::evp_gcm_encrypt(key16, pattern(12), {}, {});
  EXPECT_EQ(difference(tag, expected.tag), "");
}

// Flips every bit of the tag, and bits of everything else that it authenticates.
TEST_P(CipherCalls, GcmDecrypt_RefusesDamageAndZeroesTheOutput) {
  const Buffer nonce = pattern(12, 1);
  const Buffer aad = pattern(33, 2);
  for (const int threads : {1, 3}) {
    const Buffer plain = pattern(threads == 1 ? 333 : 100000);
    const support::Sealed sealed = support::evp_gcm_encrypt(key32, nonce, aad, plain);
    Gcm gcm(key32, execution(threads));
    const auto expect_failure = [&](Bytes n, Bytes a, Bytes c, Bytes t, const char* damaged) {
      for (const bool in_place : {false, true}) {
        Buffer in(c.begin(), c.end());
        Buffer other(c.size(), 0xcc);
        Buffer& out = in_place ? in : other;
        EXPECT_THROW(gcm.decrypt(n, a, in, out, t), IntegrityError) << damaged;
        EXPECT_EQ(difference(out, Buffer(c.size())), "") << damaged << ": the output is not zero";
      }
    };
    for (unsigned bit = 0; bit < 128; ++bit) {
      auto tag = sealed.tag;
      tag[bit / 8] ^= static_cast<std::uint8_t>(1U << (bit % 8));
      if (threads == 1 || bit % 32 == 0) expect_failure(nonce, aad, sealed.text, tag, "tag");
    }
    for (const std::size_t tag_bytes : {4, 8, 12, 13, 14, 15, 16}) {
      Buffer tag(sealed.tag.begin(), sealed.tag.begin() + static_cast<std::ptrdiff_t>(tag_bytes));
      tag.back() ^= 0x80;
      expect_failure(nonce, aad, sealed.text, tag, "short tag");
    }
    for (const std::size_t at : {std::size_t{0}, plain.size() / 2, plain.size() - 1}) {
      Buffer text(sealed.text);
      text[at] ^= 1;
      expect_failure(nonce, aad, text, sealed.tag, "ciphertext");
    }
    for (const std::size_t at : {0, 15, 16, 32}) {
      Buffer other(aad);
      other[at] ^= 4;
      expect_failure(nonce, other, sealed.text, sealed.tag, "AAD");
    }
    Buffer other(nonce);
    other[11] ^= 1;
    expect_failure(other, aad, sealed.text, sealed.tag, "nonce");
    expect_failure(nonce, Bytes(aad).first(32), sealed.text, sealed.tag, "shorter AAD");
    expect_failure(nonce, aad, Bytes(sealed.text).first(plain.size() - 1), sealed.tag,
                   "shorter text");
    // The object still decrypts the intact message.
    Buffer out(plain.size());
    EXPECT_NO_THROW(gcm.decrypt(nonce, aad, sealed.text, out, sealed.tag));
    EXPECT_EQ(difference(out, plain), "");
  }
}

TEST_P(CipherCalls, RefusedCall_DoesNotAdvanceTheMessage) {
  const Buffer in = pattern(160);
  const Buffer cbc_expected = support::evp_cbc(Direction::encrypt, key16, block, in);
  Cbc cbc(key16, block, execution());
  Buffer out(160);
  cbc.encrypt(Bytes(in).first(80), MutableBytes(out).first(80));
  EXPECT_THROW(cbc.encrypt(Bytes(in).first(17), MutableBytes(out).first(17)), InvalidArgument);
  cbc.encrypt(Bytes(in).last(80), MutableBytes(out).last(80));
  EXPECT_EQ(difference(out, cbc_expected), "");

  const Buffer ctr_expected = support::evp_ctr(key16, block, in);
  Ctr ctr(key16, block, execution());
  ctr.process(Bytes(in).first(33), MutableBytes(out).first(33));
  EXPECT_THROW(ctr.process(Bytes(in).first(17), MutableBytes(out).first(18)), InvalidArgument);
  ctr.process(Bytes(in).subspan(33), MutableBytes(out).subspan(33));
  EXPECT_EQ(difference(out, ctr_expected), "");
}

TEST_P(CipherCalls, MovedObject_ContinuesTheMessage) {
  const Buffer in = pattern(100);
  const Buffer expected = support::evp_ctr(key16, block, in);
  Ctr first(key16, block, execution());
  Buffer out(100);
  first.process(Bytes(in).first(50), MutableBytes(out).first(50));
  Ctr second(std::move(first));
  second.process(Bytes(in).last(50), MutableBytes(out).last(50));
  EXPECT_EQ(difference(out, expected), "");
  EXPECT_EQ(second.kernel(), kernel().name);
  Ctr third(key32, block, execution());
  third = std::move(second);
  third.seek(0);
  third.process(in, out);
  EXPECT_EQ(difference(out, expected), "");
}

PARAES_FOR_EVERY_KERNEL(CipherCalls);

}  // namespace
}  // namespace paraes
