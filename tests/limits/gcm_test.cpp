// GCM with the longest texts of SP 800-38D section 5.2.1.1, 2^36 - 32 bytes, and with long
// associated data and nonces. tests/unit/arguments_test.cpp has what is too long.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "paraes/ciphers.hpp"
#include "tests/limits/windows.hpp"
#include "tests/support/buffers.hpp"
#include "tests/support/evp_oracle.hpp"
#include "tests/support/kernels.hpp"
#include "tests/support/spec.hpp"

namespace paraes {
namespace {

using limits::RepeatedWindow;
using support::Block;
using support::Buffer;
using support::difference;
using support::KernelTest;
using support::make_key;
using support::pattern;

constexpr std::size_t longest_text = (std::size_t{1} << 36) - 32;

// The tests take minutes: the names begin with "Long", by which ctest selects the tests of the long
// tier.

Block block_of(Bytes bytes) {
  Block block{};
  std::copy_n(bytes.begin(), std::min<std::size_t>(bytes.size(), 16), block.begin());
  return block;
}

Block sum(Block a, const Block& b) {
  for (unsigned i = 0; i < 16; ++i) a[i] ^= b[i];
  return a;
}

// The hash key (SP 800-38D section 7.1, step 1).
Block hash_key(Bytes key) {
  return block_of(support::evp_ecb(Direction::encrypt, key, Buffer(16)));
}

// The last block that GHASH covers (section 7.1, step 5).
Block length_block(std::uint64_t aad_bytes, std::uint64_t text_bytes) {
  Block block{};
  for (unsigned i = 0; i < 8; ++i) {
    block[7 - i] = static_cast<std::uint8_t>(8 * aad_bytes >> 8 * i);
    block[15 - i] = static_cast<std::uint8_t>(8 * text_bytes >> 8 * i);
  }
  return block;
}

// Adds `bytes` bytes that repeat a window. out: the window that takes every chunk of ciphertext;
// nullptr for associated data.
void add_repeated(support::EvpGcmStream& stream, Bytes window, std::uint8_t* out,
                  std::size_t bytes) {
  while (bytes != 0) {
    const std::size_t n = std::min(bytes, window.size());
    stream.add(window.first(n), out);
    bytes -= n;
  }
}

// The effect of GHASH over some blocks on a state: state * factor + addend.
struct HashStep {
  Block factor;
  Block addend;
};

HashStep then(const HashStep& first, const HashStep& second) {
  return {support::spec_multiply(first.factor, second.factor),
          sum(support::spec_multiply(first.addend, second.factor), second.addend)};
}

// The step of `count` repetitions of a step.
HashStep repeated(HashStep step, std::uint64_t count) {
  HashStep all{};
  all.factor[0] = 0x80;  // 1
  for (; count != 0; count /= 2) {
    if (count % 2 != 0) all = then(all, step);
    step = then(step, step);
  }
  return all;
}

// The step of some whole blocks.
HashStep step_of(const Block& h, Bytes blocks) {
  HashStep one{.factor = h, .addend = {}};
  return {repeated(one, blocks.size() / 16).factor, support::spec_ghash(h, {}, blocks)};
}

// The tag of a ciphertext that repeats `window` (section 7.2), computed with a logarithmic number
// of multiplications. nonce: 12 bytes; bytes: whole blocks.
Block tag_of_repeated(Bytes key, Bytes nonce, Bytes window, std::size_t bytes) {
  const Block h = hash_key(key);
  const HashStep whole = repeated(step_of(h, window), bytes / window.size());
  const Block state = support::spec_ghash(h, whole.addend, window.first(bytes % window.size()));
  const Block hash = support::spec_multiply(sum(state, length_block(0, bytes)), h);
  Buffer j0(nonce.begin(), nonce.end());
  j0.insert(j0.end(), {0, 0, 0, 1});
  return sum(hash, block_of(support::evp_ecb(Direction::encrypt, key, j0)));
}

// Fills the window with a pattern, and returns that.
Buffer fill(const RepeatedWindow& memory, unsigned first) {
  Buffer text = pattern(RepeatedWindow::window_bytes, first);
  std::copy(text.begin(), text.end(), memory.window().begin());
  return text;
}

class LongGcm : public KernelTest {
 protected:
  const Buffer key_ = make_key(32, 31);
  const Buffer nonce_ = pattern(12, 200);
};
// Suites of their own, so that ctest runs them at once: 64 GiB take minutes.
class LongGcmTexts : public LongGcm {};
class LongGcmDecryption : public LongGcm {};

TEST_P(LongGcmTexts, Of2To36Minus32Bytes_AreEncryptedAsByOpenSsl) {
  const RepeatedWindow in(longest_text);
  const RepeatedWindow out(longest_text);
  const Buffer plain = fill(in, 0);
  support::EvpGcmStream stream(key_, nonce_);
  Buffer expected(RepeatedWindow::window_bytes);
  add_repeated(stream, plain, expected.data(), longest_text);
  const Block expected_tag = stream.tag();

  Block tag{};
  Gcm(key_, execution()).encrypt(nonce_, {}, in.span(longest_text), out.span(longest_text), tag);
  EXPECT_EQ(tag, expected_tag);
  EXPECT_EQ(difference(out.window(), expected), "") << "the last bytes of the text";
  EXPECT_EQ(difference(in.window(), plain), "") << "wrote to the input";
}

// Two threads join their hashes: the factor of the second has an exponent of 31 bits.
TEST_P(LongGcmDecryption, TextOf2To36Minus32Bytes_IsVerifiedWithOneThreadAndTwo) {
  const RepeatedWindow in(longest_text);
  const RepeatedWindow out(longest_text);
  const Buffer cipher = fill(in, 9);
  const Block tag = tag_of_repeated(key_, nonce_, cipher, longest_text);
  for (const int threads : {1, 2}) {
    Gcm gcm(key_, execution(threads));
    ASSERT_NO_THROW(gcm.decrypt(nonce_, {}, in.span(longest_text), out.span(longest_text), tag));
    if (threads != 1) continue;  // two threads write to the same window
    Buffer counter(nonce_);
    counter.insert(counter.end(), {0, 0, 0, 0});
    RepeatedWindow::for_what_is_left(
        longest_text, [&](std::size_t at, std::size_t n, std::uint64_t offset) {
          const std::uint64_t block = 2 + offset / 16;
          ASSERT_LE(block, UINT32_MAX);
          for (unsigned i = 0; i < 4; ++i) {
            counter[15 - i] = static_cast<std::uint8_t>(block >> 8 * i);
          }
          ASSERT_EQ(difference(out.window().subspan(at, n),
                               support::evp_ctr(key_, counter, Bytes(cipher).subspan(at, n))),
                    "")
              << "from byte " << offset << " of the text";
        });
  }
}

TEST_P(LongGcm, AssociatedDataOver2To32Bytes_HasOpenSslsTag) {
  constexpr std::size_t bytes = (std::size_t{1} << 32) + 21;
  const RepeatedWindow aad(bytes);
  const Buffer data = fill(aad, 3);
  const Buffer plain = pattern(100);
  Buffer expected(plain.size());
  support::EvpGcmStream stream(key_, nonce_);
  add_repeated(stream, data, nullptr, bytes);
  stream.add(plain, expected.data());
  const Block expected_tag = stream.tag();

  Buffer out(plain.size());
  Block tag{};
  Gcm gcm(key_, execution());
  gcm.encrypt(nonce_, aad.span(bytes), plain, out, tag);
  EXPECT_EQ(difference(out, expected), "");
  EXPECT_EQ(tag, expected_tag);
  EXPECT_NO_THROW(gcm.decrypt(nonce_, aad.span(bytes), out, out, tag));
}

// OpenSSL's nonces have at most 128 bytes, so the hash is that of the standard.
TEST_P(LongGcm, NonceOver2To29Bytes_GivesTheCounterOfTheStandard) {
  constexpr std::size_t bytes = (std::size_t{1} << 29) + 5;  // 2^32 + 40 bits
  const RepeatedWindow nonce(bytes);
  const Buffer data = fill(nonce, 4);
  const Block h = hash_key(key_);
  const HashStep whole = repeated(step_of(h, data), bytes / data.size());
  Block last{};
  std::copy_n(data.begin(), bytes % data.size(), last.begin());
  const Block j0 = support::spec_multiply(
      sum(support::spec_multiply(sum(whole.addend, last), h), length_block(0, bytes)), h);
  ASSERT_LT(bytes % data.size(), 16U);
  ASSERT_NE(j0[15], 0xff);  // so that adding 1 needs no carry
  Buffer counter(j0.begin(), j0.end());
  ++counter[15];
  const Buffer plain = pattern(16);
  Buffer out(plain.size());
  Block tag{};
  Gcm(key_, execution()).encrypt(nonce.span(bytes), {}, plain, out, tag);
  EXPECT_EQ(difference(out, support::evp_ctr(key_, counter, plain)), "");
}

// The table kernels would take hours.
bool takes_minutes(const Kernel& kernel) { return kernel.timing != Timing::leaky; }
PARAES_FOR_KERNELS(LongGcm, takes_minutes);

// So would the narrow variants of bitslice with the longest texts: all have one text
// (bitslice.inc).
bool is_first_variant(const Kernel& kernel) {
  return takes_minutes(kernel) &&
         (kernel.name != "bitslice" || &kernel == &find_kernel("bitslice"));
}
PARAES_FOR_KERNELS(LongGcmTexts, is_first_variant);
PARAES_FOR_KERNELS(LongGcmDecryption, is_first_variant);

}  // namespace
}  // namespace paraes
