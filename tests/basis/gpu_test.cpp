// Rounds, key schedules, GHASH and tweaks of the GPU kernels on PoCL, on inputs that decide them
// for all keys and texts. docs/proofs.md says why.
//
// Entries are launched one by one, with keys, powers of H and tweaks that are free: a launch says
// how many rounds it computes, and the powers of H are memory.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "src/gpu/caller_queue.hpp"
#include "src/gpu/device/sizes.h"
#include "src/gpu/entry_launcher.hpp"
#include "tests/basis/fips197.hpp"
#include "tests/gpu/each_kernel.hpp"
#include "tests/support/hex.hpp"
#include "tests/support/test_device.hpp"

namespace paraes::gpu {
namespace {

using basis::Element;
using basis::Expansion;
using basis::one;
using basis::Random;
using basis::RoundKeys;
using basis::single_bytes;
using basis::unit;
using basis::with_single_bytes;
using basis::Word;
using support::Block;

class Entries : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    PARAES_NEEDS_DEVICE("opencl:0");
    context_ = open_context({"opencl", {0}}, find_gpu_kernel(GetParam()));
    queue_ = context_->device().make_queue();
    launcher_ = std::make_unique<EntryLauncher>(*context_, *queue_);
    nothing_ = room(16);
  }

  [[nodiscard]] const ProgramVariant& variant() const { return context_->variant(); }
  [[nodiscard]] bool slices() const { return variant().kernel->sliced_keys; }

  Memory room(std::size_t bytes) {
    Memory memory = context_->device().allocate(std::max<std::size_t>(bytes, 16));
    queue_->clear(memory, 0, memory.bytes());
    return memory;
  }

  template <class T>
  Memory sent(const std::vector<T>& data) {
    Memory memory = room(data.size() * sizeof(T));
    queue_->upload(memory, 0, data.data(), data.size() * sizeof(T));
    queue_->finish();
    return memory;
  }

  template <class T>
  std::vector<T> received(const Memory& from, std::size_t count) {
    std::vector<T> data(count);
    queue_->download(data.data(), from, 0, count * sizeof(T));
    queue_->finish();
    return data;
  }

  void launch(const char* entry, EntryArguments arguments, Grid grid) {
    for (const Memory** memory : {&arguments.in, &arguments.out, &arguments.messages,
                                  &arguments.key.keys, &arguments.scratch}) {
      if (*memory == nullptr) *memory = &nothing_;
    }
    launcher_->launch(entry, arguments, grid);
  }

  [[nodiscard]] Grid tile_grid() const {
    return {.groups = 2,
            .threads = variant().group_threads,
            .shared_bytes = mode_shared_bytes(variant())};
  }

  // Schedules as the host expands them; the device slices them if the kernel wants that.
  static paraes_schedule schedule_of(const RoundKeys& keys) {
    paraes_schedule schedule{};
    for (std::size_t r = 0; r < keys.size(); ++r) {
      const bool inner = r != 0 && r + 1 != keys.size();
      const Block inverse = inner ? basis::inverse_mix_columns(keys[r]) : keys[r];
      std::memcpy(schedule.encrypt + 4 * r, keys[r].data(), 16);
      std::memcpy(schedule.decrypt + 4 * (keys.size() - 1 - r), inverse.data(), 16);
    }
    return schedule;
  }

  struct Key {
    unsigned rounds = 0;
    Memory schedule;
    Memory sliced;
  };

  Key key_of(const RoundKeys& keys) {
    Key key{static_cast<unsigned>(keys.size() - 1), sent(std::vector{schedule_of(keys)}), {}};
    if (!slices()) return key;
    key.sliced = room(sliced_key_bytes(variant()));
    launch("slice_keys", {.in = &key.schedule, .out = &key.sliced, .key = {.rounds = key.rounds}},
           {.groups = 1, .threads = variant().group_threads});
    return key;
  }

  [[nodiscard]] KeyReference reference(const Key& key) const {
    return {.rounds = key.rounds, .keys = slices() ? &key.sliced : &key.schedule};
  }

  // One message of these blocks.
  std::vector<Block> computed(const char* entry, const Key& key, const std::vector<Block>& text,
                              const Memory* scratch = nullptr, std::uint32_t unit_blocks = 0) {
    const Memory in = sent(text);
    const Memory out = room(16 * text.size());
    const Memory messages = sent(std::vector{make_message(0, 0, 16 * text.size(), nullptr)});
    const std::uint32_t tile_blocks = 32 * variant().kernel->blocks_per_thread;
    launch(entry,
           {.in = &in,
            .out = &out,
            .messages = &messages,
            .tiles = (text.size() + tile_blocks - 1) / tile_blocks,
            .key = reference(key),
            .scratch = scratch,
            .unit_blocks = unit_blocks,
            .tile_blocks = tile_blocks},
           tile_grid());
    return received<Block>(out, text.size());
  }

  static RoundKeys first_keys(std::uint64_t seed, unsigned rounds) {
    RoundKeys keys = basis::expansion_with(Random(seed).words(4), 0).round_keys();
    keys.resize(rounds + 1);
    return keys;
  }

  std::shared_ptr<DeviceContext> context_;
  std::unique_ptr<Queue> queue_;
  std::unique_ptr<EntryLauncher> launcher_;
  Memory nothing_;
};

// ---- Rounds

class GpuRounds : public Entries {
 protected:
  void check(const Key& key, const RoundKeys& keys, const std::vector<Block>& text) {
    const std::vector<Block> sealed = computed("ecb_encrypt", key, text);
    const std::vector<Block> opened = computed("ecb_decrypt", key, text);
    for (std::size_t i = 0; i < text.size(); ++i) {
      ASSERT_TRUE(sealed[i] == basis::encrypted(text[i], keys))
          << support::to_hex(text[i]) << ", block " << i;
      ASSERT_TRUE(opened[i] == basis::decrypted(text[i], keys))
          << support::to_hex(text[i]) << ", block " << i << ", decryption";
    }
  }

  // The blocks of a thread are 32 apart. Each block is with each thread of a warp-sized group, and
  // at each place among the blocks of a thread.
  void check_single_bytes(unsigned rounds) {
    const RoundKeys keys = first_keys(rounds, rounds);
    const Key key = key_of(keys);
    const std::vector<Block> blocks = with_single_bytes(Random(rounds).block());
    std::vector<Block> text;
    for (const std::size_t step : {std::size_t{1}, std::size_t{32}}) {
      for (std::size_t k = 0; k < 32; ++k) {
        for (std::size_t i = 0; i < single_bytes; ++i) {
          text.push_back(blocks[(i + k * step) % single_bytes]);
        }
      }
    }
    ASSERT_NO_FATAL_FAILURE(check(key, keys, text));
    text = Random(10 + rounds).blocks(text.size());
    ASSERT_NO_FATAL_FAILURE(check(key, keys, text)) << "at random";
  }

  // Single blocks, each a message.
  void check_single_blocks(unsigned rounds) {
    const RoundKeys keys = first_keys(rounds, rounds);
    const Key key = key_of(keys);
    std::vector<Block> blocks = with_single_bytes(Random(rounds).block());
    blocks.push_back({});  // an odd block moves the pairs
    for (std::size_t i = 0; i < single_bytes; ++i) blocks.push_back(blocks[i]);
    std::vector<paraes_message> messages;
    for (const Block& b : blocks) messages.push_back(make_message(0, 0, 16, b.data()));
    const Memory list = sent(messages);
    const Memory masks = room(16 * blocks.size());
    launch("gcm_masks",
           {.messages = &list,
            .count = static_cast<std::uint32_t>(blocks.size()),
            .key = {.rounds = rounds, .keys = &key.schedule},
            .scratch = &masks},
           tile_grid());
    const std::vector<Block> out = received<Block>(masks, blocks.size());
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      ASSERT_TRUE(out[i] == basis::encrypted(blocks[i], keys))
          << support::to_hex(blocks[i]) << ", block " << i;
    }
  }

  // Messages of 32 counters, which begin with each value of each byte and at random.
  void check_counters(unsigned rounds) {
    const RoundKeys keys = first_keys(rounds, rounds);
    const Key key = key_of(keys);
    Random random(rounds);
    std::vector<Block> first = with_single_bytes(random.block());
    for (std::size_t i = 0; i < single_bytes; ++i) first.push_back(random.block());
    std::vector<paraes_message> messages;
    for (std::size_t i = 0; i < first.size(); ++i) {
      messages.push_back(make_message(512 * i, 512 * i, 512, first[i].data()));
      messages.back().first_tile = i;
    }
    const Memory list = sent(messages);
    const Memory in = room(512 * first.size());
    const Memory out = room(512 * first.size());
    launch(slices() ? "ctr_narrow" : "ctr",
           {.in = &in,
            .out = &out,
            .messages = &list,
            .count = static_cast<std::uint32_t>(first.size()),
            .tiles = first.size(),
            .key = reference(key),
            .tile_blocks = 32},
           tile_grid());
    const std::vector<Block> stream = received<Block>(out, 32 * first.size());
    for (std::size_t i = 0; i < first.size(); ++i) {
      Block counter = first[i];
      for (std::size_t k = 0; k < 32; ++k) {
        ASSERT_TRUE(stream[32 * i + k] == basis::encrypted(counter, keys))
            << "counter " << k << " from " << support::to_hex(first[i]);
        for (std::size_t b = 16; b-- > 0 && ++counter[b] == 0;) {
        }
      }
    }
  }
};

TEST_P(GpuRounds, LastRound_OfEveryValueOfEveryByteInEveryLane) { check_single_bytes(1); }
TEST_P(GpuRounds, InnerRound_OfEveryValueOfEveryByteInEveryLane) { check_single_bytes(2); }
TEST_P(GpuRounds, LastRound_OfSingleBlocks) { check_single_blocks(1); }
TEST_P(GpuRounds, InnerRound_OfSingleBlocks) { check_single_blocks(2); }
// One kernel computes the first two rounds apart.
TEST_P(GpuRounds, FirstRoundsOfCounters) { check_counters(GetParam() == "ttable" ? 3 : 2); }

// ---- Key schedules

class GpuSchedules : public Entries {};

TEST_P(GpuSchedules, EveryStepOfTheExpansionOnABasis) {
  for (const unsigned nk : {4U, 6U, 8U}) {
    std::vector<RoundKeys> expected;
    std::vector<std::uint8_t> keys;
    const auto add = [&](const std::vector<Word>& words, std::size_t at) {
      const Expansion expansion = basis::expansion_with(words, at);
      const std::vector<std::uint8_t> key = expansion.key();
      keys.insert(keys.end(), key.begin(), key.end());
      expected.push_back(expansion.round_keys());
    };
    for (std::size_t i = nk; i < 4 * (nk + 7); ++i) {
      std::vector<Word> words = Random(i).words(nk);
      for (unsigned value = 0; value < 4 * 256; ++value) {
        words[nk - 1][value / 256] ^= static_cast<std::uint8_t>(value % 256);
        add(words, i - nk);
        words[nk - 1][value / 256] ^= static_cast<std::uint8_t>(value % 256);
      }
      for (std::size_t bit = 0; bit < 32 * nk; ++bit) {
        words[bit / 32][bit / 8 % 4] ^= static_cast<std::uint8_t>(1U << bit % 8);
        add(words, i - nk);
        words[bit / 32][bit / 8 % 4] ^= static_cast<std::uint8_t>(1U << bit % 8);
      }
    }
    const Memory in = sent(keys);
    const Memory out = room(expected.size() * sizeof(paraes_schedule));
    launch("expand_keys",
           {.in = &in,
            .out = &out,
            .count = static_cast<std::uint32_t>(expected.size()),
            .key = {.rounds = nk + 6}},
           {.groups = 4, .threads = variant().group_threads});
    const auto schedules = received<paraes_schedule>(out, expected.size());
    for (std::size_t k = 0; k < expected.size(); ++k) {
      const paraes_schedule schedule = schedule_of(expected[k]);
      ASSERT_EQ(std::memcmp(&schedules[k], &schedule, sizeof schedule), 0)
          << 32 * nk << " bits, key " << k;
    }
  }
}

// Each bit of each round key of 10 and of 14 rounds, in each lane.
TEST_P(GpuSchedules, EveryBitOfEveryRoundKeyInEveryLane) {
  const std::vector<Block> text(32 * 32, Random(4).block());
  for (const unsigned rounds : {10U, 14U}) {
    for (unsigned round = 0; round <= rounds; ++round) {
      RoundKeys keys(rounds + 1);
      for (unsigned bit = 0; bit < 128; ++bit) {
        keys[round] = unit(bit);
        const Key key = key_of(keys);
        ASSERT_EQ(computed("ecb_encrypt", key, text),
                  std::vector<Block>(text.size(), basis::encrypted(text[0], keys)))
            << "bit " << bit << " of round key " << round << " of " << rounds;
        ASSERT_EQ(computed("ecb_decrypt", key, text),
                  std::vector<Block>(text.size(), basis::decrypted(text[0], keys)))
            << "bit " << bit << " of round key " << round << " of " << rounds << ", decryption";
      }
    }
  }
}

// ---- GHASH

class GpuHashes : public Entries {
 protected:
  using Words = std::array<paraes_u32, 4>;

  static Words words_of(Element a) {
    return {static_cast<paraes_u32>(a.high >> 32), static_cast<paraes_u32>(a.high),
            static_cast<paraes_u32>(a.low >> 32), static_cast<paraes_u32>(a.low)};
  }

  // The powers of a key, from the first on, as many as a group has threads. They need not be
  // powers.
  using Powers = std::vector<Element>;

  Memory sent_powers(const std::vector<Powers>& keys) {
    std::vector<Words> words;
    for (const Powers& powers : keys) {
      for (const Element& power : powers) words.push_back(words_of(power));
    }
    return sent(words);
  }

  struct Text {
    std::vector<Block> blocks;
    std::uint32_t key;
  };

  // The hashes of whole blocks, without lengths.
  std::vector<Block> hashes(const Memory& keys, const std::vector<Text>& texts, unsigned lanes) {
    std::vector<Block> content;
    std::vector<paraes_message> messages;
    for (const Text& text : texts) {
      const std::uint64_t at = 16 * content.size();
      paraes_message message = make_message(at, at, 16 * text.blocks.size(), nullptr);
      message.key = text.key;
      message.flags = PARAES_HASH_PARTIAL | PARAES_HASH_INPUT;
      message.tag = 16 * messages.size();
      messages.push_back(message);
      content.insert(content.end(), text.blocks.begin(), text.blocks.end());
    }
    const Memory in = sent(content);
    const Memory out = room(16 * texts.size());
    const Memory list = sent(messages);
    launch("ghash",
           {.in = &in,
            .out = &out,
            .messages = &list,
            .count = static_cast<std::uint32_t>(texts.size()),
            .key = {.many_keys = true, .rounds = 10, .keys = &keys},
            .tile_blocks = lanes},
           {.groups = 2,
            .threads = variant().hash_threads,
            .shared_bytes = hash_shared_bytes(variant())});
    return received<Block>(out, texts.size());
  }

  [[nodiscard]] Powers ones() const { return Powers(variant().hash_threads, one); }

  // A text in which only the block with this exponent of H is not zero.
  static std::vector<Block> only(std::size_t exponent, const Block& block) {
    std::vector<Block> text(exponent);
    text[0] = block;
    return text;
  }
};

// The product of a lane's sum and its own power: for each bit of both, in lanes that change.
TEST_P(GpuHashes, OwnPowersOfABasis) {
  for (const unsigned lanes : {8U, 16U, 32U, variant().hash_threads}) {
    std::vector<Powers> keys;
    for (unsigned i = 0; i < 128; ++i) {
      keys.emplace_back(variant().hash_threads, basis::element_of(unit(i)));
    }
    const Memory memory = sent_powers(keys);
    std::vector<Text> texts;
    for (unsigned i = 0; i < 128; ++i) {
      for (unsigned j = 0; j < 128; ++j) {
        texts.push_back({only(1 + (5 * i + j) % std::min(lanes, 128U), unit(j)), i});
      }
    }
    const std::vector<Block> found = hashes(memory, texts, lanes);
    for (unsigned i = 0; i < 128; ++i) {
      Element expected = basis::element_of(unit(i));
      for (unsigned j = 0; j < 128; ++j) {
        ASSERT_TRUE(found[128 * i + j] == basis::block_of(expected))
            << lanes << " lanes, " << i << ", " << j;
        expected = basis::times_x(expected);
      }
    }
  }
}

// The product with the factor by which all lanes multiply: every value of every byte of a block,
// for each bit of the factor. With fewer than all lanes, kernels without tables add up to
// PARAES_HASH_TERMS products with as many factors.
TEST_P(GpuHashes, FactorsOfABasis) {
  const bool tables = variant().hash_copies != 0;
  for (const unsigned lanes : {8U, 32U, variant().hash_threads}) {
    const std::size_t terms =
        tables || lanes * PARAES_HASH_TERMS > variant().hash_threads ? 1 : PARAES_HASH_TERMS;
    // Tables are the same for every number of lanes.
    const unsigned values = tables && lanes == 8 ? 256 : 8;
    for (unsigned i = 0; i < 128; ++i) {
      if (lanes == variant().hash_threads && i % 8 != 5) continue;  // long texts
      const Element factor = basis::element_of(unit(i));
      std::vector<Powers> keys;
      for (std::size_t term = 1; term <= terms; ++term) {
        keys.push_back(ones());
        keys.back()[lanes * term - 1] = factor;
      }
      const Memory memory = sent_powers(keys);
      std::vector<Text> texts;
      std::vector<Block> expected;
      for (std::size_t term = 1; term <= terms; ++term) {
        for (unsigned byte = 0; byte < 16; ++byte) {
          for (unsigned value = 0; value < values; ++value) {
            Block x{};
            x[byte] = static_cast<std::uint8_t>(values == 256 ? value : 1U << value);
            // Of the first lane, whose own power is H^1.
            texts.push_back({only(1 + lanes * term, x), static_cast<std::uint32_t>(term - 1)});
            expected.push_back(basis::block_of(basis::product(basis::element_of(x), factor)));
          }
        }
      }
      const std::vector<Block> found = hashes(memory, texts, lanes);
      for (std::size_t k = 0; k < texts.size(); ++k) {
        ASSERT_TRUE(found[k] == expected[k])
            << lanes << " lanes, bit " << i << " of the factor, " << texts[k].blocks.size()
            << " blocks, " << support::to_hex(texts[k].blocks[0]);
      }
    }
  }
}

// Texts at random under powers at random that are those of one H. The hash is a polynomial of a low
// degree in the bits of both.
TEST_P(GpuHashes, TextsAtRandomOfManyLengths) {
  Random random(20);
  std::vector<Powers> keys;
  for (unsigned k = 0; k < 64; ++k) {
    Powers powers;
    const Element h = basis::element_of(random.block());
    for (unsigned n = 0; n < variant().hash_threads; ++n) {
      powers.push_back(n == 0 ? h : basis::product(powers.back(), h));
    }
    keys.push_back(powers);
  }
  const Memory memory = sent_powers(keys);
  for (const unsigned lanes : {8U, 16U, 32U, variant().hash_threads}) {
    std::vector<Text> texts;
    std::vector<Block> expected;
    for (unsigned k = 0; k < keys.size(); ++k) {
      for (unsigned length = 0; length < 16; ++length) {
        std::vector<Block> text = random.blocks(1 + (length * 37 + k * 11) % 600);
        Element sum;
        for (const Block& b : text) sum = basis::product(sum ^ basis::element_of(b), keys[k][0]);
        texts.push_back({std::move(text), k});
        expected.push_back(basis::block_of(sum));
      }
    }
    const std::vector<Block> found = hashes(memory, texts, lanes);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      ASSERT_TRUE(found[i] == expected[i]) << lanes << " lanes, text " << i;
    }
  }
}

// All powers that the device computes from H = E_K(0), for keys at random.
TEST_P(GpuHashes, PowersOfKeysAtRandom) {
  constexpr unsigned count = 2048;
  std::vector<paraes_schedule> schedules;
  std::vector<Element> h;
  Random random(21);
  for (unsigned k = 0; k < count; ++k) {
    const RoundKeys keys = basis::expansion_with(random.words(4), 0).round_keys();
    schedules.push_back(schedule_of(keys));
    h.push_back(basis::element_of(basis::encrypted({}, keys)));
  }
  const Memory keys = sent(schedules);
  const Memory scratch = room(count * hash_key_bytes(variant()));
  launch("ghash_prepare",
         {.count = count,
          .key = {.many_keys = true, .rounds = 10, .keys = &keys},
          .scratch = &scratch},
         {.groups = 4,
          .threads = variant().hash_threads,
          .shared_bytes = hash_key_shared_bytes(variant())});
  const auto powers = received<Words>(scratch, std::size_t{count} * variant().hash_threads);
  for (unsigned k = 0; k < count; ++k) {
    Element expected = h[k];
    for (unsigned n = 0; n < variant().hash_threads; ++n) {
      ASSERT_EQ(powers[std::size_t{k} * variant().hash_threads + n], words_of(expected))
          << "key " << k << ", power " << n + 1;
      expected = basis::product(expected, h[k]);
    }
  }
}

// ---- Tweaks

class GpuTweaks : public Entries {
 protected:
  // The tweaks of `blocks` blocks from each of these on.
  static std::vector<Block> tweaks_from(const std::vector<Block>& first, std::size_t blocks) {
    std::vector<Block> all;
    for (Block tweak : first) {
      for (std::size_t i = 0; i < blocks; ++i) {
        all.push_back(tweak);
        tweak = support::spec_next_tweak(tweak);
      }
    }
    return all;
  }

  static std::vector<Block> all_units() {
    std::vector<Block> blocks;
    for (unsigned bit = 0; bit < 128; ++bit) blocks.push_back(unit(bit));
    return blocks;
  }
};

// Long units use multiples of x^4096, too.
TEST_P(GpuTweaks, StretchesOfABasis) {
  for (const std::uint32_t unit_blocks : {5U, 32U, 40U, 9000U}) {
    const std::uint32_t each = PARAES_STRETCHES(unit_blocks);
    const Memory in = sent(all_units());
    const Memory out = room(16 * std::size_t{128} * each);
    launch("xts_stretches",
           {.in = &in,
            .out = &out,
            .tiles = std::uint64_t{128} * each,
            .key = {.rounds = 10},
            .unit_blocks = unit_blocks},
           {.groups = 2, .threads = variant().group_threads});
    const std::vector<Block> found = received<Block>(out, std::size_t{128} * each);
    const std::vector<Block> expected = tweaks_from(all_units(), std::size_t{32} * each);
    for (std::size_t i = 0; i < found.size(); ++i) {
      ASSERT_TRUE(found[i] == expected[32 * i])
          << "bit " << i / each << ", stretch " << i % each << " of units of " << unit_blocks;
    }
  }
}

// The tweak of each block from that of its stretch, which the cipher of one round shows.
TEST_P(GpuTweaks, OfBlocksOfABasis) {
  const RoundKeys keys = first_keys(30, 1);
  const Key key = key_of(keys);
  for (const std::uint32_t unit_blocks : {1U, 5U, 32U, 40U, 64U}) {
    const std::uint32_t each = PARAES_STRETCHES(unit_blocks);
    const std::vector<Block> tweaks = tweaks_from(all_units(), unit_blocks);
    std::vector<Block> stretches;
    for (std::size_t u = 0; u < 128; ++u) {
      for (std::size_t s = 0; s < each; ++s) {
        stretches.push_back(tweaks[u * unit_blocks + 32 * s]);
      }
    }
    const Memory scratch = sent(stretches);
    const std::vector<Block> text = Random(unit_blocks).blocks(tweaks.size());
    for (const bool encrypt : {true, false}) {
      const std::vector<Block> found =
          computed(encrypt ? "xts_encrypt" : "xts_decrypt", key, text, &scratch, unit_blocks);
      for (std::size_t i = 0; i < text.size(); ++i) {
        Block expected = text[i];
        basis::add(expected, tweaks[i]);
        expected = encrypt ? basis::encrypted(expected, keys) : basis::decrypted(expected, keys);
        basis::add(expected, tweaks[i]);
        ASSERT_TRUE(found[i] == expected) << "bit " << i / unit_blocks << ", block "
                                          << i % unit_blocks << " of units of " << unit_blocks;
      }
    }
  }
}

PARAES_FOR_EACH_GPU_KERNEL(, GpuRounds);
PARAES_FOR_EACH_GPU_KERNEL(, GpuSchedules);
PARAES_FOR_EACH_GPU_KERNEL(, GpuHashes);
PARAES_FOR_EACH_GPU_KERNEL(, GpuTweaks);

}  // namespace
}  // namespace paraes::gpu
