// The upper halves of the vector registers after an operation. Where they are in use, many
// processors run SSE instructions slowly until VZEROUPPER: on a Zen 4, `aesni` took 2.6 times as
// long.

#include <gtest/gtest.h>

#include "tests/support/kernels.hpp"
#include "tests/support/operations.hpp"
#include "tests/support/vector_state.hpp"

namespace paraes {
namespace {

using support::all_operations;
using support::Buffer;
using support::KernelTest;
using support::leaves_upper_halves_in_use;
using support::Operation;
using support::Task;
using support::tells_upper_halves;
using support::upper_halves_in_use;

constexpr const char* does_not_tell =
    "this processor does not tell whether upper halves are in use";

TEST(UpperHalves, AreSeenInUseUntilTheyAreCleared) {
  if (!tells_upper_halves()) GTEST_SKIP() << does_not_tell;
  const auto use = [] {
#if defined(__x86_64__)
    asm volatile("vpcmpeqd %%ymm5, %%ymm5, %%ymm5" ::: "xmm5");
#endif
  };
  EXPECT_FALSE(leaves_upper_halves_in_use([] {}));
  EXPECT_TRUE(leaves_upper_halves_in_use(use));
  EXPECT_FALSE(upper_halves_in_use());
}

class VectorState : public KernelTest {};

TEST_P(VectorState, UpperHalves_AreClearAfterEveryOperation) {
  if (!tells_upper_halves()) GTEST_SKIP() << does_not_tell;
  for (const Operation& operation : all_operations()) {
    for (const std::size_t key_bytes : operation.key_bytes) {
      for (const std::size_t wanted : {0, 16, 48, 256, 1024, 1040, 4096, 16384, 16400, 300000}) {
        const std::size_t n = operation.min_bytes + wanted / operation.step * operation.step;
        const Task task = operation.prepare(operation.direction, n, key_bytes);
        Buffer out(n);
        Buffer tag(16);
        EXPECT_FALSE(leaves_upper_halves_in_use([&] {
          operation.run(operation.direction, execution(), task.inputs(), task.in, out, tag);
        })) << operation.name
            << ", " << n << " bytes, key of " << key_bytes;
        ASSERT_TRUE(out == task.out) << operation.name;
      }
    }
  }
}

PARAES_FOR_EVERY_KERNEL(VectorState);

}  // namespace
}  // namespace paraes
