// ECB, CBC and CTR: the round keys and the texts are secret.

#include <algorithm>
#include <string>

#include "tests/ct/secrets.hpp"

namespace paraes::ct {
namespace {

constexpr unsigned key_sizes[] = {16, 24, 32};

// From one block to several rounds of the widest loop, each with a rest.
constexpr std::size_t block_counts[] = {0,  1,  2,  3,  4,  5,  7,  8,   9,   15,  16,
                                        17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 300};

std::string title(const char* operation, unsigned key_bytes, std::size_t size) {
  return std::string(operation) + ", AES-" + std::to_string(8 * key_bytes) + ", " +
         std::to_string(size);
}

class SecretsInBlockModes : public SecretsTest {
 protected:
  // Calls `operation(schedule, in, out, blocks)` for every key size, number of blocks and
  // alignment.
  template <class Operation>
  void run(const char* name, const Operation& operation) {
    for (const unsigned key_bytes : key_sizes) {
      KeySchedule schedule;
      kernel().expand(schedule, hidden_key(key_bytes).data(), key_bytes);
      for (const std::size_t blocks : block_counts) {
        for (const std::size_t shift : {0U, 1U}) {
          const Buffer in = hidden_text(16 * blocks + shift);
          alignas(16) static std::uint8_t out[16 * 300 + 1];
          watch(title(name, key_bytes, blocks),
                [&] { operation(schedule, in.data() + shift, out + shift, blocks); });
          expect_hidden({out + shift, 16 * blocks}, title(name, key_bytes, blocks));
        }
      }
    }
  }

  using Blocks = void (*)(const KeySchedule&, const std::uint8_t*, std::uint8_t*, std::size_t);
  using Chained = void (*)(const KeySchedule&, std::uint8_t*, const std::uint8_t*, std::uint8_t*,
                           std::size_t);

  void run_blocks(const char* name, Blocks operation) {
    if (operation != nullptr) run(name, operation);
  }

  // `start` is the IV or the first counter block, which is public.
  void run_chained(const char* name, Chained operation, std::uint8_t start) {
    if (operation == nullptr) return;
    run(name, [&](const KeySchedule& schedule, const std::uint8_t* in, std::uint8_t* out,
                  std::size_t blocks) {
      std::uint8_t chain[16];
      std::fill(chain, chain + 16, start);
      operation(schedule, chain, in, out, blocks);
    });
  }
};

TEST_P(SecretsInBlockModes, DecideNothingInEcb) {
  run_blocks("ECB encryption", kernel().ecb_encrypt);
  run_blocks("ECB decryption", kernel().ecb_decrypt);
  run_blocks("ECB encryption, non-temporal", kernel().ecb_encrypt_nontemporal);
  run_blocks("ECB decryption, non-temporal", kernel().ecb_decrypt_nontemporal);
}

TEST_P(SecretsInBlockModes, DecideNothingInCbc) {
  run_chained("CBC encryption", kernel().cbc_encrypt, 1);
  run_chained("CBC decryption", kernel().cbc_decrypt, 1);
  run_chained("CBC decryption, non-temporal", kernel().cbc_decrypt_nontemporal, 1);
}

// Among the counters are ones that wrap: within the last byte, and as a whole.
TEST_P(SecretsInBlockModes, DecideNothingInCtr) {
  for (const unsigned start : {0x00U, 0xf1U, 0xffU}) {
    run_chained("CTR", kernel().ctr, static_cast<std::uint8_t>(start));
    run_chained("CTR, non-temporal", kernel().ctr_nontemporal, static_cast<std::uint8_t>(start));
  }
}

PARAES_FOR_SECRETS(SecretsInBlockModes);

}  // namespace
}  // namespace paraes::ct
