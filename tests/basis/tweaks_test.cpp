// The tweaks of XTS in every kernel, on inputs that decide them for all tweaks and keys.
// docs/proofs.md says why.

#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "src/kernels/block_modes.hpp"
#include "tests/basis/fips197.hpp"
#include "tests/support/hex.hpp"
#include "tests/support/kernels.hpp"

namespace paraes::basis {
namespace {

using support::KernelTest;
using support::spec_next_tweak;

TEST(NextTweak, OfABasis) {
  for (unsigned bit = 0; bit < 128; ++bit) {
    Block tweak = unit(bit);
    block_modes::xts_next_tweak(tweak.data());
    ASSERT_EQ(tweak, spec_next_tweak(unit(bit)));
  }
}

class Tweaks : public KernelTest {};

// More than three batches of any kernel, so that each position of the first one, of the next ones
// and of the rest is there.
constexpr std::size_t most_blocks = 3 * 64 + 9;
constexpr std::size_t units = 3;

// Masks are linear in the tweak of their unit and in a round key that kernels join with them. Each
// single bit of a tweak comes with another key, and so do tweaks at random.
TEST_P(Tweaks, OfABasisAtEveryPosition) {
  std::vector<Block> masks(units * most_blocks);
  std::vector<Block> expected(masks.size());
  std::vector<Block> out(masks.size() + 4);
  auto* aligned = out.data()->data();
  while (reinterpret_cast<std::uintptr_t>(aligned) % 64 != 0) ++aligned;
  for (unsigned trial = 0; trial < 256; ++trial) {
    Random random(trial);
    const Expansion expansion = expansion_with(random.words(trial % 2 == 0 ? 4 : 8), 0);
    const std::vector<std::uint8_t> key = expansion.key();
    KeySchedule schedule;
    kernel().expand(schedule, key.data(), static_cast<unsigned>(key.size()));
    // With one round, where the schedule says how many, the tweaks are as with all.
    if (kernel().xts_tweaks == nullptr) schedule.rounds = 1;
    const std::vector<Block> in = random.blocks(masks.size());
    // The unit with the bit is each in turn.
    std::vector<Block> first(units);
    for (std::size_t u = 0; u < units; ++u) {
      if (trial >= 128) first[u] = random.block();
    }
    for (std::size_t with_bit = 0; with_bit < (trial < 128 ? units : 1); ++with_bit) {
      if (trial < 128) {
        for (std::size_t u = 0; u < units; ++u) first[u] = u == with_bit ? unit(trial) : Block{};
      }
      std::vector<Block> after;
      for (std::size_t u = 0; u < units; ++u) {
        Block tweak = first[u];
        for (std::size_t i = 0; i < most_blocks; ++i) {
          masks[u * most_blocks + i] = tweak;
          tweak = spec_next_tweak(tweak);
        }
        after.push_back(tweak);
      }
      const auto check = [&](BlocksOperation* ecb, XtsOperation* xts, XtsOperation* nontemporal) {
        for (std::size_t i = 0; i < in.size(); ++i) {
          expected[i] = in[i];
          add(expected[i], masks[i]);
        }
        ecb(schedule, expected.data()->data(), expected.data()->data(), expected.size());
        for (std::size_t i = 0; i < in.size(); ++i) add(expected[i], masks[i]);
        for (XtsOperation* const operation : {xts, nontemporal}) {
          if (operation == nullptr) continue;
          for (const std::size_t n :
               {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{5}, std::size_t{8},
                std::size_t{31}, std::size_t{64}, std::size_t{96}, most_blocks}) {
            for (const std::size_t count : {std::size_t{1}, units}) {
              std::vector<Block> tweaks(first);
              operation(schedule, tweaks.data()->data(), in.data()->data(), aligned, count,
                        16 * most_blocks, n);
              for (std::size_t u = 0; u < count; ++u) {
                ASSERT_EQ(std::memcmp(aligned + 16 * u * most_blocks,
                                      expected.data() + u * most_blocks, 16 * n),
                          0)
                    << "trial " << trial << ", unit " << u << " of " << count << ", " << n
                    << " blocks";
              }
              const std::size_t last = count - 1;
              ASSERT_EQ(tweaks[last],
                        n == most_blocks ? after[last] : masks[last * most_blocks + n])
                  << "trial " << trial << ", the tweak behind " << n << " blocks";
            }
          }
        }
      };
      ASSERT_NO_FATAL_FAILURE(
          check(kernel().ecb_encrypt, kernel().xts_encrypt, kernel().xts_encrypt_nontemporal));
      ASSERT_NO_FATAL_FAILURE(
          check(kernel().ecb_decrypt, kernel().xts_decrypt, kernel().xts_decrypt_nontemporal));
    }
  }
}

PARAES_FOR_KERNELS_WITH(Tweaks, xts_encrypt);

}  // namespace
}  // namespace paraes::basis
