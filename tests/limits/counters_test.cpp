// Counters that wrap, at every position in the wide loops of every kernel: CTR's 128 bits, the 32
// bits that GCM increments, and the numbers of XTS data units. tests/differential has wraps on
// several threads.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "paraes/ciphers.hpp"
#include "paraes/error.hpp"
#include "tests/limits/gcm_spec.hpp"
#include "tests/support/buffers.hpp"
#include "tests/support/builds.hpp"
#include "tests/support/evp_oracle.hpp"

namespace paraes {
namespace {

using support::Block;
using support::Buffer;
using support::BuildTest;
using support::difference;
using support::make_key;
using support::pattern;

// The widest batch of a kernel has 64 blocks.
constexpr std::uint64_t widest = 64;

// A big-endian number of 16 bytes whose low `bits` bits become zero after `steps` increments; with
// 0 steps they are zero. The bits above them are a pattern, in which an unwanted carry shows.
Buffer counter_before(unsigned bits, std::uint64_t steps) {
  Buffer counter = pattern(16, 0x31);
  const std::uint64_t low = 0 - steps;
  for (unsigned i = 0; i < bits / 8; ++i) {
    counter[15 - i] = i < 8 ? static_cast<std::uint8_t>(low >> 8 * i)
                            : static_cast<std::uint8_t>(steps == 0 ? 0 : 0xff);
  }
  return counter;
}

// The same, little-endian.
Buffer number_before(unsigned bits, std::uint64_t steps) {
  Buffer number = counter_before(bits, steps);
  std::reverse(number.begin(), number.end());
  return number;
}

class CounterWraps : public BuildTest {};

TEST_P(CounterWraps, CtrMatchesOpenSslWhereAnyByteOfTheCounterWraps) {
  const Buffer key = make_key(32, 3);
  const Buffer plain = pattern(16 * (2 * widest + 2) + 5);
  Buffer out(plain.size());
  std::size_t messages = 0;
  for (unsigned bits = 8; bits <= 128; bits += 8) {
    for (std::uint64_t blocks = 0; blocks <= widest + 1; ++blocks) {
      const Buffer counter = counter_before(bits, blocks);
      const Buffer expected = support::evp_ctr(key, counter, plain);
      Ctr(key, counter, execution()).process(plain, out);
      ASSERT_EQ(difference(out, expected), "") << bits << " bits wrap after " << blocks;
      ++messages;
    }
  }
  support::report(std::to_string(messages) + " messages of CTR with kernel " +
                  support::build_name(row()));
}

// seek() and the calls before it have to carry, too. The stream is read from byte `skip` on.
TEST_P(CounterWraps, CtrMatchesOpenSslWhereACallBeginsBeforeTheWrap) {
  const Buffer key = make_key(16, 4);
  constexpr std::uint64_t before = 1000;  // blocks
  const Buffer plain = pattern(16 * (before + 2 * widest));
  for (const unsigned bits : {32U, 64U, 96U, 128U}) {
    for (std::uint64_t blocks = 0; blocks <= widest + 1; ++blocks) {
      const Buffer counter = counter_before(bits, before + blocks);
      const Buffer expected = support::evp_ctr(key, counter, plain);
      Ctr ctr(key, counter, execution());
      for (const std::size_t skip : {16 * before, 16 * before + 3}) {
        const Bytes rest = Bytes(plain).subspan(skip);
        Buffer out(rest.size());
        ctr.seek(skip);
        const std::size_t half = 16 * blocks + 7;  // within the first block after the wrap
        ctr.process(rest.first(half), MutableBytes(out).first(half));
        ctr.process(rest.subspan(half), MutableBytes(out).subspan(half));
        ASSERT_EQ(difference(out, Bytes(expected).subspan(skip)), "")
            << bits << " bits wrap after " << blocks << " blocks from byte " << skip;
      }
    }
  }
}

// Nonces from which J0 = ..fffffff0 and the like follow: SP 800-38D hashes all that do not have 12
// bytes, and increments the low 32 bits alone.
TEST_P(CounterWraps, GcmMatchesOpenSslWhereTheLow32BitsWrap) {
  const Buffer key = make_key(32, 6);
  const Buffer plain = pattern(16 * (2 * widest + 3) + 9);
  const Buffer aad = pattern(21);
  const std::size_t rests[] = {0, 1, 13, 16, 33};
  const limits::Nonces nonces(key);
  std::size_t messages = 0;
  for (std::uint64_t steps = 0; steps <= 2 * widest + 2; ++steps) {
    const Buffer j0 = counter_before(32, steps);
    const Buffer nonce = nonces.nonce_for(limits::block_of(j0), pattern(rests[steps % 5], 99));
    const support::Sealed expected = support::evp_gcm_encrypt(key, nonce, aad, plain);
    // The nonce does what it is for: the first block is encrypted with J0 + 1.
    Buffer first(j0);
    for (unsigned i = 15; i >= 12 && ++first[i] == 0; --i) {
    }
    ASSERT_EQ(difference(Bytes(expected.text).first(16),
                         support::evp_ctr(key, first, Bytes(plain).first(16))),
              "");
    Gcm gcm(key, execution());
    Buffer out(plain.size());
    Block tag{};
    gcm.encrypt(nonce, aad, plain, out, tag);
    ASSERT_EQ(difference(out, expected.text), "") << "the counter wraps after " << steps;
    ASSERT_EQ(tag, expected.tag) << "the counter wraps after " << steps;
    gcm.decrypt(nonce, aad, out, out, tag);
    ASSERT_EQ(difference(out, plain), "") << "the counter wraps after " << steps;
    ++messages;
  }
  support::report(std::to_string(messages) + " messages of GCM with kernel " +
                  support::build_name(row()));
}

TEST_P(CounterWraps, XtsMatchesOpenSslWhereTheNumberOfTheUnitWraps) {
  const Buffer key = make_key(64, 8);
  constexpr std::size_t units = widest + 12;
  std::size_t messages = 0;
  for (const std::size_t unit : {16, 33, 512}) {
    const Buffer plain = pattern(units * unit);
    Buffer out(plain.size());
    for (const unsigned bits : {32U, 64U, 128U}) {
      // Units of 33 bytes are computed one by one, of 512 each fills a batch.
      for (std::uint64_t steps = 0; steps <= widest + 1; steps += unit == 16 ? 1 : 5) {
        const Buffer first = number_before(bits, steps);
        const Buffer expected = support::evp_xts(Direction::encrypt, key, first, unit, plain);
        Xts xts(key, unit, execution());
        xts.encrypt(first, plain, out);
        ASSERT_EQ(difference(out, expected), "")
            << bits << " bits wrap after " << steps << " units of " << unit;
        xts.decrypt(first, out, out);
        ASSERT_EQ(difference(out, plain), "")
            << bits << " bits wrap after " << steps << " units of " << unit;
        ++messages;
      }
    }
  }
  support::report(std::to_string(messages) + " messages of XTS with kernel " +
                  support::build_name(row()));
}

PARAES_FOR_EVERY_BUILD(CounterWraps);

// A position in the stream has 64 bits. Behind it, the key stream would begin again.
TEST(CtrStream, EndsAtByte2To64) {
  const Buffer key = make_key(16, 10);
  const Buffer counter = counter_before(128, 5);
  const Buffer plain = pattern(16);
  // Block 2^60 - 1, in which byte 2^64 - 1 would be, has the counter 2^60 - 6.
  Buffer last(16);
  const std::uint64_t low = (std::uint64_t{1} << 60) - 6;
  for (unsigned i = 0; i < 8; ++i) last[15 - i] = static_cast<std::uint8_t>(low >> 8 * i);
  const Buffer expected = support::evp_ctr(key, last, plain);

  for (const int threads : {1, 4}) {
    Ctr ctr(key, counter, {"auto", threads});
    Buffer out(15);
    ctr.seek(UINT64_MAX - 15);
    ctr.process(Bytes(plain).first(15), out);
    EXPECT_EQ(difference(out, Bytes(expected).first(15)), "");
    // The stream is used up.
    Buffer one(1, 0x5a);
    EXPECT_THROW(ctr.process(Bytes(plain).first(1), one), InvalidArgument);
    EXPECT_EQ(one[0], 0x5a);
    EXPECT_NO_THROW(ctr.process({}, {}));
    // A call that begins before the end and goes beyond it.
    for (const std::uint64_t from : {UINT64_MAX - 15, UINT64_MAX - 100000}) {
      ctr.seek(from);
      Buffer beyond(200000, 0x5a);
      EXPECT_THROW(ctr.process(beyond, beyond), InvalidArgument);
      EXPECT_EQ(beyond, Buffer(200000, 0x5a));
    }
    // The object is still good.
    ctr.seek(0);
    Buffer again(16);
    ctr.process(plain, again);
    EXPECT_EQ(difference(again, support::evp_ctr(key, counter, plain)), "");
  }
}

}  // namespace
}  // namespace paraes
