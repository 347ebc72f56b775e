// GHASH of every kernel and of every form of GCM, on inputs that decide it for all hash keys and
// texts. docs/proofs.md says why.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "src/core/carryless.hpp"
#include "src/core/gf128.hpp"
#include "tests/basis/fips197.hpp"
#include "tests/support/hex.hpp"
#include "tests/support/kernels.hpp"

namespace paraes::basis {
namespace {

using support::KernelTest;

constexpr unsigned max_powers = GhashKey::max_powers;

// ---- What the tests themselves compute with

// The definition in words agrees with the one in bytes.
TEST(Definitions, ProductsOfWordsAreThoseOfBytes) {
  for (unsigned i = 0; i < 128; ++i) {
    for (unsigned j = 0; j < 128; ++j) {
      ASSERT_EQ(block_of(product(element_of(unit(i)), element_of(unit(j)))),
                support::spec_multiply(unit(i), unit(j)));
    }
  }
}

Element element(unsigned bit) { return element_of(unit(bit)); }

// ---- The field that is computed with integers

// A product of masked words has bits four places apart, and each bit of its operands is in one
// place only, so the count in a place is at most that of words whose bits are all set. None of
// those below reaches 16 but the highest, whose carry leaves the word: no product carries.
TEST(CarrylessProducts, NoCountCarriesIntoTheNext) {
  constexpr std::uint64_t all = 0x1111111111111111;
  EXPECT_EQ(all * all, 0x0fedcba987654321U);
  // With the words moved by 1 to 3 bits, as the other masks have them.
  for (unsigned i = 0; i < 4; ++i) {
    for (unsigned j = 0; j < 4; ++j) {
      EXPECT_EQ((all << i) * (all << j), 0x0fedcba987654321U << (i + j));
    }
  }
  // Of the GPU: 32-bit words, with products of 64 bits.
  constexpr std::uint64_t half = 0x11111111;
  EXPECT_EQ(half * half, 0x0123456787654321U);
}

TEST(CarrylessProducts, AreRightOnABasis) {
  for (unsigned i = 0; i < 64; ++i) {
    for (unsigned j = 0; j < 64; ++j) {
      ASSERT_EQ(carryless_low(std::uint64_t{1} << i, std::uint64_t{1} << j),
                i + j < 64 ? std::uint64_t{1} << (i + j) : 0);
    }
  }
  // The counts are largest here.
  const std::uint64_t all = ~std::uint64_t{0};
  EXPECT_EQ(carryless_low(all, all), 0x5555555555555555U);
}

TEST(CarrylessProducts, ReversedBitsAreRightOnABasis) {
  for (unsigned i = 0; i < 64; ++i) {
    ASSERT_EQ(reverse_bits(std::uint64_t{1} << i), std::uint64_t{1} << (63 - i));
  }
}

TEST(Gf128, ProductsOfABasis) {
  for (unsigned i = 0; i < 128; ++i) {
    const Element h = element(i);
    const Gf128Factor factor = make_factor({h.high, h.low});
    for (unsigned j = 0; j < 128; ++j) {
      const Element x = element(j);
      const Gf128 found = multiply(Gf128{x.high, x.low}, factor);
      ASSERT_EQ((Element{found.high, found.low}), product(h, x)) << i << ", " << j;
    }
  }
}

// Squaring is linear, and so is each power whose exponent is a power of two. Others are products of
// these.
TEST(Gf128, PowersOfTwoOfABasisAndTheirProducts) {
  for (unsigned i = 0; i < 128; ++i) {
    Element square = element(i);
    for (unsigned bit = 0; bit < 64; ++bit) {
      const Gf128 found = power({element(i).high, element(i).low}, std::uint64_t{1} << bit);
      ASSERT_EQ((Element{found.high, found.low}), square) << i << ", " << bit;
      square = product(square, square);
    }
  }
  Random random(1);
  for (unsigned trial = 0; trial < 2000; ++trial) {
    const Element a = element_of(random.block());
    const std::uint64_t n = random.word() >> trial % 64;
    Element expected = one;
    Element square = a;
    for (std::uint64_t left = n; left != 0; left >>= 1) {
      if ((left & 1) != 0) expected = product(expected, square);
      square = product(square, square);
    }
    if (n == 0) continue;
    const Gf128 found = power({a.high, a.low}, n);
    ASSERT_EQ((Element{found.high, found.low}), expected) << n;
  }
}

// ---- GHASH

class Hashes : public KernelTest {
 protected:
  void use(Element h) {
    const Block bytes = block_of(h);
    kernel().ghash_init(key_, bytes.data());
    std::copy(bytes.begin(), bytes.end(), key_.h);
  }

  Block hash(const Block* data, std::size_t blocks, Block state = {}) {
    kernel().ghash(key_, state.data(), data->data(), blocks);
    return state;
  }

  // Checks that each bit of each block of a text of n blocks adds what it should to the hash.
  void check_positions(std::size_t n, const std::vector<Element>& powers) {
    std::vector<Block> text(n);
    for (std::size_t i = 0; i < n; ++i) {
      Element expected = powers[n - i];
      for (unsigned bit = 0; bit < 128; ++bit) {
        text[i] = unit(bit);
        ASSERT_TRUE(hash(text.data(), n) == block_of(expected))
            << n << " blocks, bit " << bit << " of block " << i << ", H "
            << support::to_hex(block_of(powers[1]));
        expected = times_x(expected);
      }
      text[i] = {};
    }
    // The running sum is added to the first block.
    if (n == 0) return;
    Element expected = powers[n];
    for (unsigned bit = 0; bit < 128; ++bit) {
      ASSERT_TRUE(hash(text.data(), n, unit(bit)) == block_of(expected))
          << n << " blocks, bit " << bit << " of the sum";
      expected = times_x(expected);
    }
    ASSERT_TRUE(hash(text.data(), n) == Block{});
  }

  // Blocks of the longest text that the kernel hashes with one reduction: with AES instructions
  // that of two batches, on NEON 16.
  [[nodiscard]] std::size_t most_blocks() const {
    return kernel().gcm_encrypt != nullptr ? max_powers : kernel().variant == "neon" ? 16 : 1;
  }

  GhashKey key_;
};

std::vector<Element> powers_of(Element h, std::size_t count) {
  std::vector<Element> powers = {one};
  for (std::size_t k = 1; k <= count; ++k) powers.push_back(product(powers.back(), h));
  return powers;
}

// Every value of every four bits of a block: one kernel has them in tables.
TEST_P(Hashes, ProductsOfABasis) {
  for (unsigned i = 0; i < 128; ++i) {
    const Element h = element(i);
    use(h);
    for (unsigned nibble = 0; nibble < 32; ++nibble) {
      for (unsigned value = 0; value < 16; ++value) {
        Block x{};
        x[nibble / 2] = static_cast<std::uint8_t>(nibble % 2 == 0 ? value << 4 : value);
        ASSERT_TRUE(hash(&x, 1) == block_of(product(element_of(x), h)))
            << "bit " << i << ", " << support::to_hex(x);
      }
    }
  }
}

// Elements whose n-th powers are a basis of the field, for each n up to max_powers: then the
// products that a kernel computes with the n-th power are those of two bases.
std::vector<Element> elements_whose_powers_span(std::uint64_t seed) {
  Random random(seed);
  std::vector<std::vector<Element>> powers(max_powers + 1);
  std::vector<Element> elements;
  for (unsigned i = 0; i < 148; ++i) {
    elements.push_back(element_of(random.block()));
    const std::vector<Element> of_one = powers_of(elements.back(), max_powers);
    for (unsigned n = 1; n <= max_powers; ++n) powers[n].push_back(of_one[n]);
  }
  for (unsigned n = 1; n <= max_powers; ++n) EXPECT_EQ(rank_of(powers[n]), 128U) << n;
  return elements;
}

TEST_P(Hashes, ProductsOfTwoBasesAtEveryPositionOfTheLongestText) {
  for (const Element h : elements_whose_powers_span(7)) {
    use(h);
    ASSERT_NO_FATAL_FAILURE(check_positions(most_blocks(), powers_of(h, max_powers)));
  }
}

TEST_P(Hashes, Long_ProductsOfTwoBasesAtEveryPositionOfEveryText) {
  for (const Element h : elements_whose_powers_span(8)) {
    use(h);
    const std::vector<Element> powers = powers_of(h, 2 * max_powers);
    for (std::size_t n = 0; n <= most_blocks() + 2; ++n) {
      ASSERT_NO_FATAL_FAILURE(check_positions(n, powers));
    }
  }
}

TEST_P(Hashes, EveryBitAtEveryPositionOfEveryText) {
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    const Element h = element_of(Random(seed).block());
    use(h);
    const std::vector<Element> powers = powers_of(h, 2 * max_powers);
    for (std::size_t n = 0; n <= most_blocks() + 2; ++n) {
      ASSERT_NO_FATAL_FAILURE(check_positions(n, powers));
    }
  }
}

// Each power that a kernel stores, which it shows where a text is 1. Those whose exponents have one
// bit or two are decided by single bits of H and pairs of them, the others with all but certainty
// by H at random: an error would show with a probability of 2^-6 or more for each.
TEST_P(Hashes, EveryPowerOfSingleBitsOfPairsAndAtRandom) {
  std::vector<Element> keys;
  for (unsigned i = 0; i < 128; ++i) {
    keys.push_back(element(i));
    for (unsigned j = 0; j < i; ++j) keys.push_back(element(i) ^ element(j));
  }
  Random random(3);
  for (unsigned i = 0; i < 4096; ++i) keys.push_back(element_of(random.block()));
  const std::size_t n = most_blocks();
  std::vector<Block> text(n);
  for (const Element h : keys) {
    use(h);
    Element expected = h;
    for (std::size_t k = 1; k <= n; ++k) {
      text[n - k] = block_of(one);
      ASSERT_TRUE(hash(text.data(), n) == block_of(expected))
          << "power " << k << " of " << support::to_hex(block_of(h));
      text[n - k] = {};
      expected = product(expected, h);
    }
  }
}

// ---- GCM

// Texts at random of every length up to some, with hash keys at random, under one key of AES; what
// is expected is the same for all kernels. The tag is a polynomial of a low degree in the bits of H
// and of the ciphertext, so each trial would show an error with a probability of 2^-7 or more.
struct GcmTrial {
  Element h;
  std::vector<Block> plain;  // with room for whole blocks
  std::vector<Block> cipher;
  Block tag{};
};

constexpr unsigned trials_of_length = 400;
constexpr std::size_t gcm_blocks = 104;

class GcmKey {
 public:
  GcmKey() {
    const Expansion expansion = expansion_with(Random(5).words(4), 0);
    bytes = expansion.key();
    const RoundKeys keys = expansion.round_keys();
    for (std::size_t i = 0; i <= gcm_blocks; ++i) {
      Block counter{};
      std::copy(nonce.begin(), nonce.end(), counter.begin());
      counter[15] = static_cast<std::uint8_t>(i + 1);
      stream.push_back(encrypted(counter, keys));
    }
  }

  std::vector<std::uint8_t> bytes;
  std::array<std::uint8_t, 12> nonce = {9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 255, 254};
  std::vector<Block> stream;  // the mask of the tag first
};

const GcmKey& gcm_key() {
  static const GcmKey key;
  return key;
}

// A text of n blocks whose ciphertext is this.
GcmTrial trial_of(Element h, std::vector<Block> cipher) {
  GcmTrial trial{h, std::move(cipher), {}, {}};
  trial.cipher = trial.plain;
  Element sum;
  for (std::size_t i = 0; i < trial.cipher.size(); ++i) {
    sum = product(sum ^ element_of(trial.cipher[i]), h);
    add(trial.plain[i], gcm_key().stream[i + 1]);
  }
  sum = product(sum ^ Element{0, 128 * std::uint64_t{trial.cipher.size()}}, h);
  trial.tag = block_of(sum);
  add(trial.tag, gcm_key().stream[0]);
  return trial;
}

// By length and number.
const std::vector<std::vector<GcmTrial>>& gcm_trials() {
  static const std::vector<std::vector<GcmTrial>> trials = [] {
    std::vector<std::vector<GcmTrial>> all(gcm_blocks + 1);
    Random random(6);
    for (std::size_t n = 0; n <= gcm_blocks; ++n) {
      for (unsigned i = 0; i < trials_of_length; ++i) {
        const Element h = element_of(random.block());
        all[n].push_back(trial_of(h, random.blocks(n)));
      }
    }
    return all;
  }();
  return trials;
}

class GcmHashes : public KernelTest {
 protected:
  void prepare() override {
    kernel().expand(schedule_, gcm_key().bytes.data(), 16);
    const std::uint8_t* const bytes = gcm_key().bytes.data();
    kernel().gcm_expand(short_.get(), &bytes, 16, 1, ShortGcmKey::max_powers);
    for (unsigned k = 1; k < jobs; ++k) kernel().gcm_expand(&short_[k], &bytes, 16, 1, 1);
  }

  // Both forms of a hash key have their powers in the same form: see ShortGcmKey.
  void use(Element h, unsigned number = 0) {
    const Block bytes = block_of(h);
    kernel().ghash_init(hash_, bytes.data());
    std::copy(bytes.begin(), bytes.end(), hash_.h);
    set_powers(short_[number].powers, h);
  }

  // Sets all powers of h, of which hash_ has the first, and the zeros behind them. The n-th of the
  // others is the first power of h^n.
  void set_powers(std::uint8_t (*powers)[16], Element h) {
    constexpr unsigned all = ShortGcmKey::max_powers;
    static_assert(all >= max_powers && sizeof hash_.powers == (max_powers + 3) * 16);
    std::memcpy(powers[all - max_powers], hash_.powers, sizeof hash_.powers);
    static_assert(std::has_single_bit(max_powers));
    Element power = h;
    for (unsigned n = 1; n < max_powers; n *= 2) power = product(power, power);
    for (unsigned n = max_powers + 1; n <= all; ++n) {
      power = product(power, h);
      kernel().ghash_init(other_, block_of(power).data());
      std::memcpy(powers[all - n], other_.powers[max_powers - 1], 16);
    }
  }

  static GcmMessage message_of(const std::vector<Block>& in, std::uint8_t* out, std::uint8_t* tag,
                               const Block& expected_tag) {
    return {gcm_key().nonce.data(),
            12,
            nullptr,
            0,
            in.empty() ? nullptr : in.data()->data(),
            out,
            16 * in.size(),
            tag,
            expected_tag.data(),
            16};
  }

  template <class Seal, class Open>
  void check(const GcmTrial& trial, const Seal& seal, const Open& open) {
    Block tag{};
    out_.resize(trial.plain.size());
    std::uint8_t* const out = out_.empty() ? nullptr : out_.data()->data();
    seal(message_of(trial.plain, out, tag.data(), trial.tag));
    ASSERT_TRUE(out_ == trial.cipher && tag == trial.tag)
        << trial.plain.size() << " blocks, tag " << support::to_hex(tag) << " instead of "
        << support::to_hex(trial.tag);
    ASSERT_TRUE(open(message_of(trial.cipher, out, nullptr, trial.tag)))
        << trial.plain.size() << " blocks";
  }

  void check_whole(const GcmTrial& trial) {
    check(
        trial, [&](const GcmMessage& m) { kernel().gcm_seal(schedule_, hash_, m); },
        [&](const GcmMessage& m) { return kernel().gcm_open(schedule_, hash_, m); });
  }

  void check_short(const GcmTrial& trial) {
    check(
        trial, [&](const GcmMessage& m) { kernel().gcm_seal_short(short_[0], m); },
        [&](const GcmMessage& m) { return kernel().gcm_open_short(short_[0], m); });
  }

  void check_list(std::span<const GcmTrial> trials, bool one_key) {
    const std::size_t n = trials.front().plain.size();
    std::vector<GcmJob> list(jobs);
    std::vector<std::vector<Block>> out(jobs, std::vector<Block>(n));
    std::vector<Block> tags(jobs);
    for (unsigned k = 0; k < jobs; ++k) {
      const GcmTrial& trial = trials[k];
      if (k == 0 || !one_key) use(trial.h, k);
      list[k].key = &short_[one_key ? 0 : k];
      list[k].message = message_of(trial.plain, out[k].data()->data(), tags[k].data(), trial.tag);
      list[k].nonce = {};
      std::memcpy(list[k].nonce.data(), gcm_key().nonce.data(), 12);
      list[k].message.nonce = reinterpret_cast<const std::uint8_t*>(list[k].nonce.data());
    }
    kernel().gcm_seal_many(list.data(), jobs);
    for (unsigned k = 0; k < jobs; ++k) {
      ASSERT_TRUE(tags[k] == trials[k].tag) << n << " blocks, message " << k;
      ASSERT_TRUE(out[k] == trials[k].cipher) << n << " blocks, message " << k;
      list[k].message.in = trials[k].cipher.data()->data();
    }
    kernel().gcm_open_many(list.data(), jobs);
    for (unsigned k = 0; k < jobs; ++k) ASSERT_TRUE(list[k].intact);
  }

  // Each bit of each block of the ciphertext of every length, and the lengths.
  void check_positions(Element h) {
    use(h);
    for (std::size_t n = 0; n <= gcm_blocks; ++n) {
      const GcmTrial zero = trial_of(h, std::vector<Block>(n));
      ASSERT_NO_FATAL_FAILURE(check_whole(zero));
      ASSERT_NO_FATAL_FAILURE(check_short(zero));
      Element weight = h;  // of the last block: H^2
      for (std::size_t i = n; i-- > 0;) {
        weight = product(weight, h);
        GcmTrial trial = zero;
        Element expected = weight;
        for (unsigned bit = 0; bit < 128; ++bit) {
          trial.plain[i] = zero.plain[i];
          add(trial.plain[i], unit(bit));
          trial.cipher[i] = unit(bit);
          trial.tag = zero.tag;
          add(trial.tag, block_of(expected));
          expected = times_x(expected);
          ASSERT_NO_FATAL_FAILURE(check_whole(trial));
          ASSERT_NO_FATAL_FAILURE(check_short(trial));
        }
      }
    }
  }

  static constexpr unsigned jobs = 16;
  KeySchedule schedule_;
  GhashKey hash_;
  GhashKey other_;
  std::unique_ptr<ShortGcmKey[]> short_ = std::make_unique<ShortGcmKey[]>(jobs);
  std::vector<Block> out_;
};

TEST_P(GcmHashes, EveryBitAtEveryPositionOfEveryText) {
  check_positions(element_of(Random(11).block()));
}

TEST_P(GcmHashes, Long_ProductsOfTwoBasesAtEveryPositionOfEveryText) {
  for (const Element h : elements_whose_powers_span(12)) {
    ASSERT_NO_FATAL_FAILURE(check_positions(h));
  }
}

TEST_P(GcmHashes, WholeTextsAtRandomOfEveryLength) {
  for (const auto& of_length : gcm_trials()) {
    for (const GcmTrial& trial : of_length) {
      use(trial.h);
      ASSERT_NO_FATAL_FAILURE(check_whole(trial));
      ASSERT_NO_FATAL_FAILURE(check_short(trial));
    }
  }
}

// CTR and GHASH in one pass, with each kind of stores, from a running sum on.
TEST_P(GcmHashes, RangesAtRandomOfEveryLength) {
  std::vector<std::pair<GcmOperation*, bool>> operations = {{kernel().gcm_encrypt, true},
                                                            {kernel().gcm_decrypt, false}};
  if (kernel().gcm_encrypt_nontemporal != nullptr) {
    operations.emplace_back(kernel().gcm_encrypt_nontemporal, true);
    operations.emplace_back(kernel().gcm_decrypt_nontemporal, false);
  }
  std::unique_ptr<std::uint8_t[]> room(new std::uint8_t[16 * gcm_blocks + 64]);
  std::uint8_t* out = room.get();
  while (reinterpret_cast<std::uintptr_t>(out) % 64 != 0) ++out;
  for (const auto& of_length : gcm_trials()) {
    for (const GcmTrial& trial : of_length) {
      const std::size_t n = trial.plain.size();
      use(trial.h);
      Element sum = trial.h;  // at random, too
      for (const Block& b : trial.cipher) sum = product(sum ^ element_of(b), trial.h);
      for (const auto& [operation, encrypts] : operations) {
        GcmCounter counter{{}, false};
        std::copy(gcm_key().nonce.begin(), gcm_key().nonce.end(), counter.block);
        counter.block[15] = 2;
        Block state = block_of(trial.h);
        const std::vector<Block>& in = encrypts ? trial.plain : trial.cipher;
        const std::vector<Block>& expected = encrypts ? trial.cipher : trial.plain;
        const auto* const from = reinterpret_cast<const std::uint8_t*>(in.data());
        operation(schedule_, hash_, counter, state.data(), from, out, n);
        ASSERT_TRUE(state == block_of(sum)) << n << " blocks";
        ASSERT_TRUE(n == 0 || std::memcmp(out, expected.data(), 16 * n) == 0) << n << " blocks";
      }
    }
  }
}

// Messages that are interleaved: as many as any kernel takes at once, of equal sizes, with a hash
// key each or with one.
TEST_P(GcmHashes, ManyTextsAtRandomOfEqualLengths) {
  for (std::size_t n = 1; n <= 4; ++n) {
    const auto& all = gcm_trials()[n];
    for (std::size_t first = 0; first + jobs <= all.size(); ++first) {
      ASSERT_NO_FATAL_FAILURE(check_list(std::span(all).subspan(first, jobs), false));
      std::vector<GcmTrial> of_one_key;
      for (std::size_t k = 0; k < jobs; ++k) {
        of_one_key.push_back(trial_of(all[first].h, all[first + k].cipher));
      }
      ASSERT_NO_FATAL_FAILURE(check_list(of_one_key, true));
    }
  }
}

// Continues a sum over bytes, padded with zeros to whole blocks.
Element sum_over(Element sum, Element h, const std::vector<std::uint8_t>& bytes) {
  for (std::size_t at = 0; at < bytes.size(); at += 16) {
    Block b{};
    std::copy(bytes.begin() + static_cast<std::ptrdiff_t>(at),
              bytes.begin() + static_cast<std::ptrdiff_t>(std::min(at + 16, bytes.size())),
              b.begin());
    sum = product(sum ^ element_of(b), h);
  }
  return sum;
}

// Associated data of every length up to 104 blocks and a little less, and nonces of every size.
TEST_P(GcmHashes, AssociatedDataAndNoncesAtRandom) {
  const RoundKeys keys = expansion_with(Random(5).words(4), 0).round_keys();
  Random random(13);
  const auto bytes_at_random = [&](std::size_t count) {
    std::vector<std::uint8_t> bytes(count);
    for (std::uint8_t& b : bytes) b = static_cast<std::uint8_t>(random.word());
    return bytes;
  };
  for (unsigned trial = 0; trial < 4 * 16 * gcm_blocks; ++trial) {
    const Element h = element_of(random.block());
    use(h);
    const auto aad = bytes_at_random(trial % (16 * gcm_blocks + 1));
    const auto nonce =
        bytes_at_random(trial % 2 == 0 ? 12 : 1 + trial / 2 % max_library_nonce_bytes);
    const auto plain = bytes_at_random(trial % 83);
    Block j0{};
    if (nonce.size() == 12) {
      std::copy(nonce.begin(), nonce.end(), j0.begin());
      j0[15] = 1;
    } else {
      j0 = block_of(
          product(sum_over({}, h, nonce) ^ Element{0, 8 * std::uint64_t{nonce.size()}}, h));
    }
    std::vector<std::uint8_t> cipher = plain;
    Block counter = j0;
    for (std::size_t at = 0; at < plain.size(); at += 16) {
      for (std::size_t b = 16; b-- > 12 && ++counter[b] == 0;) {
      }
      const Block stream = encrypted(counter, keys);
      for (std::size_t b = 0; b < 16 && at + b < plain.size(); ++b) cipher[at + b] ^= stream[b];
    }
    Element sum = sum_over(sum_over({}, h, aad), h, cipher);
    sum =
        product(sum ^ Element{8 * std::uint64_t{aad.size()}, 8 * std::uint64_t{cipher.size()}}, h);
    Block expected = block_of(sum);
    add(expected, encrypted(j0, keys));
    std::vector<std::uint8_t> out(plain.size());
    Block tag{};
    const GcmMessage message{nonce.data(), nonce.size(), aad.data(), aad.size(), plain.data(),
                             out.data(),   plain.size(), tag.data(), nullptr,    16};
    kernel().gcm_seal(schedule_, hash_, message);
    ASSERT_TRUE(out == cipher && tag == expected)
        << aad.size() << " bytes, a nonce of " << nonce.size();
    if (nonce.size() != 12) continue;
    tag = {};
    kernel().gcm_seal_short(short_[0], message);
    ASSERT_TRUE(out == cipher && tag == expected) << aad.size() << " bytes, short";
  }
}

// The powers in the short form are those of ghash_init, which are decided above: for four keys side
// by side and one by itself, and each number of powers.
TEST_P(GcmHashes, ShortKeysHaveThePowersOfLongOnes) {
  Random random(9);
  for (unsigned trial = 0; trial < 4 * ShortGcmKey::max_powers; ++trial) {
    for (const unsigned nk : {4U, 6U, 8U}) {
      const unsigned powers = 1 + trial % ShortGcmKey::max_powers;
      std::vector<std::uint8_t> bytes[5];
      std::vector<Block> h;
      const std::uint8_t* pointers[5];
      for (unsigned k = 0; k < 5; ++k) {
        const Expansion expansion = expansion_with(random.words(nk), 0);
        bytes[k] = expansion.key();
        pointers[k] = bytes[k].data();
        h.push_back(encrypted({}, expansion.round_keys()));
      }
      kernel().gcm_expand(short_.get(), pointers, 4 * nk, 5, powers);
      for (unsigned k = 0; k < 5; ++k) {
        kernel().ghash_init(hash_, h[k].data());
        std::uint8_t expected[ShortGcmKey::max_powers + 3][16];
        set_powers(expected, element_of(h[k]));
        const unsigned first = ShortGcmKey::max_powers - powers;
        ASSERT_EQ(
            std::memcmp(short_[k].powers[first], expected[first], (powers + 3) * std::size_t{16}),
            0)
            << powers << " powers, key " << k;
      }
    }
  }
}

PARAES_FOR_EVERY_KERNEL(Hashes);
PARAES_FOR_KERNELS_WITH(GcmHashes, gcm_expand);

}  // namespace
}  // namespace paraes::basis
