// No branch and no memory address depends on a secret. valgrind's memcheck runs these tests: they
// mark the key as undefined, memcheck follows what is computed from it, and reports each branch and
// each address that is undefined. (Adam Langley's ctgrind.)
//
// The hash key is computed from the key, and so is J0 of a nonce of other than 96 bits.
#include <gtest/gtest.h>
#include <valgrind/memcheck.h>

#include <string>

#include "src/cipher/parallel_modes.hpp"
#include "src/core/counter.hpp"
#include "src/modes/gcm.hpp"
#include "src/modes/xts.hpp"
#include "tests/support/buffers.hpp"
#include "tests/support/builds.hpp"

namespace paraes {
namespace {

// Texts of one partial block to two ranges for threads, and nonces whose J0 is public and secret.
constexpr std::size_t text_sizes[] = {0, 1, 16, 64, 100, 500, 1024, 1500, 8200, 40000};
constexpr std::size_t nonce_sizes[] = {12, 1, 16, 60};

// Computes a tag from ranges.
void crypt_ranges(const GcmKey& key, Direction direction, int threads, Bytes nonce, Bytes in,
                  std::uint8_t* out, std::uint8_t tag[16]) {
  const Executor executor(threads);
  const GcmMessage message{nonce.data(), nonce.size(), nonce.data(), nonce.size(), in.data(),
                           out,          in.size(),    nullptr,      nullptr,      0};
  gcm_message(key, message, tag, [&](const GcmCounter& j0, std::uint8_t* state) {
    GcmCounter counter = j0;
    add_be32(counter.block, 1);
    parallel_gcm(executor, key, direction, counter, state, in.data(), out, in.size());
  });
}

// Processes a message by the operations for whole ones, of kernels that have them.
void crypt_whole(const GcmKey& key, Direction direction, Bytes nonce, Bytes in, std::uint8_t* out,
                 std::uint8_t tag[16]) {
  const Kernel& kernel = key.cipher.kernel;
  if (kernel.gcm_seal == nullptr) return;
  GcmMessage message{nonce.data(), nonce.size(), nonce.data(), nonce.size(), in.data(),
                     out,          in.size(),    tag,          tag,          16};
  if (direction == Direction::encrypt) {
    kernel.gcm_seal(key.cipher.schedule, key.hash, message);
    return;
  }
  for (message.tag_bytes = 12; message.tag_bytes <= 16; ++message.tag_bytes) {
    message.expected_tag = tag;
    static_cast<void>(kernel.gcm_open(key.cipher.schedule, key.hash, message));
  }
}

class SecretsInGcm : public support::BuildTest {
 protected:
  // Encrypts and decrypts with a key that memcheck takes for undefined. Returns how many errors
  // memcheck has reported meanwhile.
  unsigned errors(unsigned key_bytes, std::size_t nonce_bytes, std::size_t text_bytes) {
    support::Buffer key_text = support::make_key(key_bytes, 7);
    static_cast<void>(VALGRIND_MAKE_MEM_UNDEFINED(key_text.data(), key_text.size()));
    const auto before = static_cast<unsigned>(VALGRIND_COUNT_ERRORS);
    const GcmKey key(row(), key_text.data(), key_bytes);
    const support::Buffer nonce = support::pattern(nonce_bytes, 1);
    const support::Buffer in = support::pattern(text_bytes, 2);
    support::Buffer out(text_bytes);
    std::uint8_t tag[16] = {};
    for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
      for (const int threads : {1, 2}) {
        crypt_ranges(key, direction, threads, nonce, in, out.data(), tag);
      }
      crypt_whole(key, direction, nonce, in, out.data(), tag);
    }
    return static_cast<unsigned>(VALGRIND_COUNT_ERRORS) - before;
  }
};

TEST_P(SecretsInGcm, DecideNoBranchAndNoAddress) {
  ASSERT_NE(RUNNING_ON_VALGRIND, 0U) << "run this test with valgrind";
  for (const unsigned key_bytes : {16U, 24U, 32U}) {
    for (const std::size_t nonce_bytes : nonce_sizes) {
      for (const std::size_t text_bytes : text_sizes) {
        EXPECT_EQ(errors(key_bytes, nonce_bytes, text_bytes), 0U)
            << "AES-" << 8 * key_bytes << ", nonce of " << nonce_bytes << " bytes, text of "
            << text_bytes;
      }
    }
  }
}

PARAES_FOR_BUILDS(SecretsInGcm, [](const Kernel& row) { return row.timing == Timing::constant; });

class SecretsInXts : public support::BuildTest {};

// One unit and several, with and without stealing, and for two threads.
TEST_P(SecretsInXts, DecideNoBranchAndNoAddress) {
  ASSERT_NE(RUNNING_ON_VALGRIND, 0U) << "run this test with valgrind";
  const support::Buffer number = support::pattern(16, 3);
  for (const unsigned half_bytes : {16U, 32U}) {
    support::Buffer key_text = support::make_key(2 * half_bytes, 7);
    static_cast<void>(VALGRIND_MAKE_MEM_UNDEFINED(key_text.data(), key_text.size()));
    const auto before = static_cast<unsigned>(VALGRIND_COUNT_ERRORS);
    const XtsKey key(row(), key_text.data(), half_bytes);
    for (const std::size_t unit_bytes : {0, 48, 500, 512}) {
      for (const std::size_t text_bytes : {16, 17, 100, 512, 1500, 8200, 40000}) {
        const support::Buffer in = support::pattern(text_bytes, 2);
        support::Buffer out(text_bytes);
        for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
          for (const int threads : {1, 2}) {
            const Executor executor(threads);
            parallel_xts(executor, key, direction, number.data(), unit_bytes, in.data(), out.data(),
                         text_bytes);
          }
        }
        EXPECT_EQ(static_cast<unsigned>(VALGRIND_COUNT_ERRORS) - before, 0U)
            << "AES-" << 8 * half_bytes << ", units of " << unit_bytes << " bytes, text of "
            << text_bytes;
      }
    }
  }
}

PARAES_FOR_BUILDS(SecretsInXts, [](const Kernel& row) { return row.timing == Timing::constant; });

// Shows that memcheck sees a leak: tables are read at secret addresses.
class SecretsInTables : public SecretsInGcm {};

TEST_P(SecretsInTables, AreReported) {
  ASSERT_NE(RUNNING_ON_VALGRIND, 0U) << "run this test with valgrind";
  EXPECT_GT(errors(16, 12, 64), 0U);
}

PARAES_FOR_BUILDS(SecretsInTables, [](const Kernel& row) { return row.name == "ttable"; });

}  // namespace
}  // namespace paraes
