// Rounds and key schedules of every kernel, on inputs that decide them for all states and keys.
// docs/proofs.md says why.
//
// The functions are those of the kernel table, in the machine code that the library has. Kernels
// that compute rounds themselves take their number from the schedule: with one round they do what
// the last round does, with two also what every other round does.

#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "src/core/key_schedule.hpp"
#include "tests/basis/fips197.hpp"
#include "tests/support/buffers.hpp"
#include "tests/support/hex.hpp"
#include "tests/support/kernels.hpp"

namespace paraes::basis {
namespace {

using support::Buffer;
using support::KernelTest;

// A multiple of the blocks that any kernel processes at once.
constexpr std::size_t lanes = 64;

bool uses_library(const Kernel& kernel) { return kernel.timing == Timing::library; }
// Only kernels with AES instructions have this function.
bool computes_rounds(const Kernel& kernel) {
  return !uses_library(kernel) && kernel.xts_tweaks == nullptr;
}

bool all_zero(const void* data, std::size_t bytes) {
  const auto* p = static_cast<const std::uint8_t*>(data);
  for (std::size_t i = 0; i < bytes; ++i) {
    if (p[i] != 0) return false;
  }
  return true;
}

const std::uint8_t* bytes_of(const std::vector<Block>& blocks) { return blocks.data()->data(); }

// Compares what the kernel computes of these blocks with what is expected, each block in each lane.
void check_in_every_lane(BlocksOperation* compute, const KeySchedule& schedule,
                         const std::vector<Block>& in, const std::vector<Block>& expected) {
  const std::size_t n = in.size();
  std::vector<Block> moved(n);
  std::vector<Block> out(n);
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    for (std::size_t i = 0; i < n; ++i) moved[(i + lane) % n] = in[i];
    compute(schedule, bytes_of(moved), out.data()->data(), n);
    for (std::size_t i = 0; i < n; ++i) {
      ASSERT_TRUE(out[(i + lane) % n] == expected[i])
          << support::to_hex(out[(i + lane) % n]) << " of " << support::to_hex(in[i]) << " in lane "
          << (i + lane) % lanes;
    }
  }
}

// ---- Rounds that kernels compute

class ComputedRounds : public KernelTest {
 protected:
  // A schedule with the first round keys of a key at random.
  void use_key(std::uint64_t seed, unsigned rounds) {
    Random random(seed);
    const Expansion expansion = expansion_with(random.words(4), 0);
    const std::vector<std::uint8_t> key = expansion.key();
    kernel().expand(schedule_, key.data(), 16);
    keys_ = expansion.round_keys();
    keys_.resize(rounds + 1);
    schedule_.rounds = rounds;
    // Those of the equivalent inverse cipher are in the order of their use.
    if (!all_zero(schedule_.decrypt, sizeof schedule_.decrypt)) expand_decryption_keys(schedule_);
  }

  void check(const std::vector<Block>& in, bool encrypt) {
    std::vector<Block> expected;
    expected.reserve(in.size());
    for (const Block& b : in) {
      expected.push_back(encrypt ? encrypted(b, keys_) : decrypted(b, keys_));
    }
    check_in_every_lane(encrypt ? kernel().ecb_encrypt : kernel().ecb_decrypt, schedule_, in,
                        expected);
  }

  void check_single_bytes(unsigned rounds) {
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
      use_key(seed, rounds);
      for (const Block& base : {Block{}, Random(seed).block()}) {
        ASSERT_NO_FATAL_FAILURE(check(with_single_bytes(base), true)) << "encryption";
        ASSERT_NO_FATAL_FAILURE(check(with_single_bytes(base), false)) << "decryption";
      }
    }
  }

  // Whole batches at random, `batches` of them under each of a few keys.
  void check_at_random(unsigned rounds, std::size_t batches) {
    constexpr std::size_t at_once = 64;
    std::vector<Block> out(at_once * lanes);
    Random random(rounds);
    for (std::size_t done = 0; done < batches; done += at_once) {
      use_key(1000 + done, rounds);
      const std::vector<Block> in = random.blocks(out.size());
      for (const bool encrypt : {true, false}) {
        const auto compute = encrypt ? kernel().ecb_encrypt : kernel().ecb_decrypt;
        compute(schedule_, bytes_of(in), out.data()->data(), in.size());
        for (std::size_t i = 0; i < in.size(); ++i) {
          ASSERT_TRUE(out[i] == (encrypt ? encrypted(in[i], keys_) : decrypted(in[i], keys_)))
              << support::to_hex(in[i]) << (encrypt ? "" : ", decryption");
        }
      }
    }
  }

  KeySchedule schedule_;
  RoundKeys keys_;
};

TEST_P(ComputedRounds, LastRound_OfEveryValueOfEveryByteInEveryLane) { check_single_bytes(1); }

TEST_P(ComputedRounds, InnerRound_OfEveryValueOfEveryByteInEveryLane) { check_single_bytes(2); }

// That a round adds up what its bytes give was read. If it did not, each batch would show it with a
// probability of 2^-8 or more.
TEST_P(ComputedRounds, LastRound_OfStatesAtRandom) { check_at_random(1, 1024); }
TEST_P(ComputedRounds, InnerRound_OfStatesAtRandom) { check_at_random(2, 1024); }
TEST_P(ComputedRounds, Long_LastRoundOfStatesAtRandom) { check_at_random(1, 12'000); }
TEST_P(ComputedRounds, Long_InnerRoundOfStatesAtRandom) { check_at_random(2, 12'000); }

// ---- Rounds that instructions compute

// The states before each round that differ in one byte: which instruction follows which, with which
// key, in every lane. Rounds themselves are the processor's.
class InstructionRounds : public KernelTest {};

TEST_P(InstructionRounds, EveryValueOfEveryByteBeforeEveryRoundInEveryLane) {
  for (const unsigned nk : {4U, 6U, 8U}) {
    Random random(nk);
    const Expansion expansion = expansion_with(random.words(nk), 0);
    const RoundKeys keys = expansion.round_keys();
    KeySchedule schedule;
    kernel().expand(schedule, expansion.key().data(), 4 * nk);
    for (std::size_t round = 1; round < keys.size(); ++round) {
      const std::vector<Block> states = with_single_bytes(random.block());
      std::vector<Block> plain;
      std::vector<Block> cipher;
      for (const Block& state : states) {
        Block s = state;
        for (std::size_t r = round - 1; r > 0; --r) s = inverse_round_of(s, keys, r);
        add(s, keys[0]);
        plain.push_back(s);
        s = state;
        for (std::size_t r = round; r < keys.size(); ++r) s = round_of(s, keys, r);
        cipher.push_back(s);
      }
      ASSERT_NO_FATAL_FAILURE(check_in_every_lane(kernel().ecb_encrypt, schedule, plain, cipher))
          << 32 * nk << " bits, round " << round;
      ASSERT_NO_FATAL_FAILURE(check_in_every_lane(kernel().ecb_decrypt, schedule, cipher, plain))
          << 32 * nk << " bits, decryption, round " << round;
    }
  }
}

// ---- Key schedules

// Calls check(expansion) for each input of each step of the expansion: of the nk words before word
// i, for every i, each single bit, and where the last of them is substituted, each value of its
// bytes.
template <class Check>
void for_basis_of_every_step(unsigned nk, const Check& check) {
  for (std::size_t i = nk; i < 4 * (nk + 7); ++i) {
    const bool substitutes = i % nk == 0 || (nk == 8 && i % nk == 4);
    for (const bool at_random : {false, true}) {
      std::vector<Word> words = at_random ? Random(i).words(nk) : std::vector<Word>(nk);
      const auto check_with = [&](std::uint8_t& byte, unsigned change) {
        byte ^= static_cast<std::uint8_t>(change);
        check(expansion_with(words, i - nk));
        byte ^= static_cast<std::uint8_t>(change);
      };
      for (unsigned n = 0; substitutes && n < 4 * 256; ++n) {
        ASSERT_NO_FATAL_FAILURE(check_with(words[nk - 1][n / 256], n % 256))
            << 32 * nk << " bits, word " << i << ", value " << n;
      }
      for (std::size_t bit = 0; bit < 32 * nk; ++bit) {
        ASSERT_NO_FATAL_FAILURE(check_with(words[bit / 32][bit / 8 % 4], 1U << bit % 8))
            << 32 * nk << " bits, word " << i << ", bit " << bit;
      }
    }
  }
}

class Schedules : public KernelTest {
 protected:
  static void expect_keys(const RoundKeys& expected, const std::uint8_t (*keys)[16]) {
    ASSERT_EQ(std::memcmp(bytes_of(expected), keys, 16 * expected.size()), 0);
  }
};

TEST_P(Schedules, EveryStepOfTheExpansionOnABasis) {
  for (const unsigned nk : {4U, 6U, 8U}) {
    ASSERT_NO_FATAL_FAILURE(for_basis_of_every_step(nk, [&](const Expansion& expansion) {
      KeySchedule schedule;
      kernel().expand(schedule, expansion.key().data(), 4 * nk);
      expect_keys(expansion.round_keys(), schedule.encrypt);
      const std::size_t rest = max_rounds - schedule.rounds;
      ASSERT_TRUE(all_zero(schedule.encrypt[schedule.rounds] + 16, 16 * rest))
          << "wrote past the last round key";
    }));
  }
}

// The round keys of the equivalent inverse cipher (section 5.3.5) from those of the cipher: every
// value of every byte, because one kernel takes them from its tables.
TEST_P(Schedules, InverseRoundKeysOfEveryValueOfEveryByte) {
  for (const unsigned nk : {4U, 6U, 8U}) {
    const std::size_t rounds = nk + 6;
    for (std::size_t round = 0; round <= rounds; ++round) {
      // So that the words of the round key are among those that are given.
      const std::size_t at = std::min(4 * round, 4 * (rounds + 1) - nk);
      std::vector<Word> words = Random(round).words(nk);
      for (std::size_t i = 0; i < single_bytes; ++i) {
        std::uint8_t& byte = words[4 * round - at + i / 1024][i / 256 % 4];
        byte ^= static_cast<std::uint8_t>(i % 256);
        const Expansion expansion = expansion_with(words, at);
        byte ^= static_cast<std::uint8_t>(i % 256);
        KeySchedule schedule;
        kernel().expand(schedule, expansion.key().data(), 4 * nk);
        if (all_zero(schedule.decrypt, sizeof schedule.decrypt)) return;  // it has no such keys
        const Block key = expansion.round_keys()[round];
        const bool inner = round != 0 && round != rounds;
        const Block expected = inner ? inverse_mix_columns(key) : key;
        ASSERT_EQ(std::memcmp(schedule.decrypt[rounds - round], expected.data(), 16), 0)
            << "of " << support::to_hex(key);
      }
    }
  }
}

// Each bit of each round key reaches all lanes, in the form in which the kernel keeps round keys.
TEST_P(Schedules, EveryBitOfEveryRoundKeyInEveryLane) {
  for (const unsigned nk : {4U, 6U, 8U}) {
    const std::size_t rounds = nk + 6;
    Random random(nk);
    const Block plain = random.block();
    const std::vector<Block> in(lanes, plain);
    for (std::size_t round = 0; round <= rounds; ++round) {
      const std::size_t at = std::min(4 * round, 4 * (rounds + 1) - nk);
      for (const bool at_random : {false, true}) {
        std::vector<Word> words = at_random ? random.words(nk) : std::vector<Word>(nk);
        for (unsigned bit = 0; bit <= 128; ++bit) {
          const Block changed = bit < 128 ? unit(bit) : Block{};
          for (unsigned b = 0; b < 16; ++b) words[4 * round - at + b / 4][b % 4] ^= changed[b];
          const Expansion expansion = expansion_with(words, at);
          for (unsigned b = 0; b < 16; ++b) words[4 * round - at + b / 4][b % 4] ^= changed[b];
          KeySchedule schedule;
          kernel().expand(schedule, expansion.key().data(), 4 * nk);
          std::vector<Block> out(lanes);
          kernel().ecb_encrypt(schedule, bytes_of(in), out.data()->data(), lanes);
          ASSERT_EQ(out, std::vector<Block>(lanes, encrypted(plain, expansion.round_keys())))
              << 32 * nk << " bits, bit " << bit << " of round key " << round;
          kernel().ecb_decrypt(schedule, bytes_of(out), out.data()->data(), lanes);
          ASSERT_EQ(out, in) << 32 * nk << " bits, bit " << bit << " of round key " << round;
        }
      }
    }
  }
}

class ShortSchedules : public Schedules {};

// Four keys are expanded side by side, and one by itself.
TEST_P(ShortSchedules, EveryStepOfTheExpansionOnABasis) {
  const auto keys = std::make_unique<ShortGcmKey[]>(5);
  for (const unsigned nk : {4U, 6U, 8U}) {
    std::vector<Expansion> waiting;
    ASSERT_NO_FATAL_FAILURE(for_basis_of_every_step(nk, [&](const Expansion& expansion) {
      waiting.push_back(expansion);
      if (waiting.size() < 5) return;
      // Each of the four side by side is first once, and once by itself.
      for (unsigned first = 0; first < 5; ++first) {
        std::vector<std::uint8_t> bytes[5];
        const std::uint8_t* pointers[5];
        for (unsigned k = 0; k < 5; ++k) {
          bytes[k] = waiting[(first + k) % 5].key();
          pointers[k] = bytes[k].data();
        }
        kernel().gcm_expand(keys.get(), pointers, 4 * nk, 5, 1);
        for (unsigned k = 0; k < 5; ++k) {
          expect_keys(waiting[(first + k) % 5].round_keys(), keys[k].encrypt);
        }
      }
      waiting.clear();
    }));
  }
}

// The differences after round 1 depend on one byte of the key: all of its values are here, with
// every last byte of a counter.
class CounterDifferences : public KernelTest {};

TEST_P(CounterDifferences, OfEveryKeyAndEveryLastByte) {
  for (unsigned value = 0; value < 256; ++value) {
    std::vector<Word> words = Random(value).words(4);
    words[3][3] = static_cast<std::uint8_t>(value);
    const Expansion expansion = expansion_with(words, 0);
    const RoundKeys keys = expansion.round_keys();
    KeySchedule schedule;
    kernel().expand(schedule, expansion.key().data(), 16);
    const auto after_round_1 = [&](unsigned last) {
      Block s{};
      s[15] = static_cast<std::uint8_t>(last);
      add(s, keys[0]);
      return round_of(s, keys, 1);
    };
    for (unsigned b = 0; b < KeySchedule::counter_entries; ++b) {
      Block difference = after_round_1(b % 256);
      add(difference, after_round_1(0));
      ASSERT_EQ(std::memcmp(schedule.counter_round[b], difference.data(), 16), 0)
          << "key byte " << value << ", last byte " << b;
    }
  }
}

PARAES_FOR_KERNELS(ComputedRounds, computes_rounds);
PARAES_FOR_KERNELS_WITH(InstructionRounds, xts_tweaks);
PARAES_FOR_KERNELS(Schedules, [](const Kernel& kernel) { return !uses_library(kernel); });
PARAES_FOR_KERNELS_WITH(ShortSchedules, gcm_expand);
PARAES_FOR_KERNELS_WITH(CounterDifferences, xts_tweaks);

}  // namespace
}  // namespace paraes::basis
