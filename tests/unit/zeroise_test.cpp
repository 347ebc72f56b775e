// No key material of a cipher stays in memory that is freed, or in the locked memory.

#include <gtest/gtest.h>

#include <cstring>

#include "paraes/secret.hpp"
#include "src/kernels/kernel.hpp"
#include "src/modes/gcm.hpp"
#include "tests/support/buffers.hpp"
#include "tests/support/evp_oracle.hpp"
#include "tests/support/freed_memory.hpp"
#include "tests/support/kernels.hpp"
#include "tests/support/operations.hpp"

namespace paraes {
namespace {

using support::add_needle;
using support::blocks_freed;
using support::expect_nothing_left;
using support::leaks;
using support::needles_in_arena;
using support::watching;

// Sets the needles: the key in 16-byte parts, its round keys, and the hash key.
void watch_for(Bytes key) {
  support::watch_for({key});
  const Kernel* reference = nullptr;
  for (const Kernel* kernel : kernel_table()) {
    if (kernel->name == "reference") reference = kernel;
  }
  ASSERT_NE(reference, nullptr);
  const std::size_t half = key.size() == 64 ? 32 : key.size();
  KeySchedule schedule;
  reference->expand(schedule, key.data(), static_cast<unsigned>(half));
  for (unsigned r = 0; r <= schedule.rounds; ++r) add_needle(schedule.encrypt[r]);
  const support::Buffer h =
      support::evp_ecb(Direction::encrypt, key.first(half), support::Buffer(16));
  add_needle(h.data());
}

TEST(FreedMemory, SearchFindsAKeyThatWasNotZeroed) {
  const support::Buffer key = support::make_key(32);
  watch_for(key);
  watching = true;
  delete new support::Buffer(key);
  watching = false;
  EXPECT_EQ(leaks, 1U);
  EXPECT_GE(blocks_freed, 2U);
}

class Zeroise : public support::KernelTest {};

TEST_P(Zeroise, DestroyedCipher_LeavesNoKeys) {
  for (const support::Operation& operation : support::all_operations()) {
    for (const std::size_t key_bytes : operation.key_bytes) {
      for (const int threads : {1, 2}) {
        const std::size_t n = threads == 1 ? 1024 : 131072;
        const support::Task task = operation.prepare(operation.direction, n, key_bytes);
        watch_for(task.key);
        support::Buffer out(task.in.size());
        support::Buffer tag(16);
        SCOPED_TRACE(std::string(operation.name) + ", key of " + std::to_string(key_bytes));
        expect_nothing_left([&] {
          operation.run(operation.direction, execution(threads), task.inputs(), task.in, out, tag);
        });
      }
    }
  }
}

TEST_P(Zeroise, MoveAssignment_LeavesNoKeysOfTheTarget) {
  const support::Buffer key = support::make_key(32, 5);
  Ctr ctr(key, support::pattern(16), execution());
  Ctr other(support::make_key(32, 6), support::pattern(16), execution());
  watch_for(key);
  EXPECT_GE(needles_in_arena(), 1U) << "the test searches memory that holds no keys";
  expect_nothing_left([&] { ctr = std::move(other); });
}

PARAES_FOR_EVERY_KERNEL(Zeroise);

// Calls the destructor of an object in static memory, which stays readable.
template <class Secret>
void check_destructor() {
  alignas(Secret) static std::uint8_t storage[sizeof(Secret)];
  auto* secret = new (storage) Secret;
  for (std::size_t i = 0; i < sizeof storage; ++i) {
    ASSERT_EQ(storage[i], 0) << "byte " << i << " of a new object is not zero";
  }
  std::memset(storage, 0xa5, sizeof storage);
  secret->~Secret();
  for (std::size_t i = 0; i < sizeof storage; ++i) ASSERT_EQ(storage[i], 0) << "byte " << i;
}

TEST(Destructors, KeySchedule_IsZeroed) { check_destructor<KeySchedule>(); }
TEST(Destructors, GhashKey_IsZeroed) { check_destructor<GhashKey>(); }

TEST(SecretBytes, MoveAndTruncate_KeepTheBytesAndZeroTheRest) {
  const support::Buffer source = support::make_key(48);
  SecretBytes secret{std::span<const std::uint8_t>(source)};
  EXPECT_EQ(secret.size(), 48U);
  EXPECT_EQ(support::difference(secret.span(), source), "");
  SecretBytes moved(std::move(secret));
  EXPECT_TRUE(secret.empty());  // NOLINT(bugprone-use-after-move): a promise of the class
  EXPECT_EQ(moved.size(), 48U);
  std::uint8_t* data = moved.data();
  moved.truncate(16);
  EXPECT_EQ(moved.size(), 16U);
  EXPECT_EQ(support::difference({data + 16, 32}, support::Buffer(32)), "")
      << "the rest is not zero";
  moved.truncate(100);
  EXPECT_EQ(moved.size(), 16U);
  EXPECT_EQ(SecretBytes(5).span()[4], 0);
  EXPECT_TRUE(SecretBytes().empty());
}

TEST(SecretBytes, DestroyedOrTruncated_LeaveNoKeys) {
  const support::Buffer key = support::make_key(32);
  watch_for(key);
  watching = true;
  {
    SecretBytes first{std::span<const std::uint8_t>(key)};
    SecretBytes second{std::span<const std::uint8_t>(key)};
    first = std::move(second);
    SecretBytes third(std::move(first));
    // Both halves of the key count twice, because they are also the first two round keys.
    EXPECT_EQ(needles_in_arena(), 4U);
    third.truncate(16);
    EXPECT_EQ(needles_in_arena(), 2U);
  }
  watching = false;
  EXPECT_EQ(leaks, 0U);
  EXPECT_EQ(needles_in_arena(), 0U);
}

}  // namespace
}  // namespace paraes
