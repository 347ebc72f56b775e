// Every operation with an inaccessible page directly before or after each buffer: messages, keys,
// IVs, AAD and tags.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "src/core/counter.hpp"
#include "tests/support/buffers.hpp"
#include "tests/support/kernels.hpp"
#include "tests/support/operations.hpp"
#include "tests/support/vector_state.hpp"

namespace paraes {
namespace {

using support::all_operations;
using support::difference;
using support::GuardedBuffer;
using support::Inputs;
using support::KernelTest;
using support::Operation;
using support::Task;

class GuardPages : public KernelTest {};

TEST_P(GuardPages, EveryMode_AccessesOnlyItsBuffersForEveryLengthTo1100) {
  const GuardedBuffer in(1100);
  const GuardedBuffer out(1100);
  const GuardedBuffer key(64);
  const GuardedBuffer iv(64);
  const GuardedBuffer aad(128);
  const GuardedBuffer tag_in(16);
  const GuardedBuffer tag_out(16);
  for (const Operation& operation : all_operations()) {
    for (std::size_t n = operation.min_bytes; n <= 1100; n += operation.step) {
      const std::size_t key_bytes =
          operation.key_bytes[n / operation.step % operation.key_bytes.size()];
      const Task task = operation.prepare(operation.direction, n, key_bytes);
      for (const auto flush : {GuardedBuffer::Flush::start, GuardedBuffer::Flush::end}) {
        for (const bool in_place : {false, true}) {
          const MutableBytes source = in.place(task.in, flush);
          const MutableBytes target = in_place ? source : out.place(n, flush);
          const Inputs inputs = {key.place(task.key, flush), iv.place(task.iv, flush),
                                 aad.place(task.aad, flush), tag_in.place(task.tag, flush)};
          const MutableBytes tag = tag_out.place(16, flush);
          operation.run(operation.direction, execution(), inputs, source, target, tag);
          ASSERT_EQ(difference(target, task.out), "") << operation.name;
          if (!task.out_tag.empty()) {
            ASSERT_EQ(difference(tag, task.out_tag), "") << operation.name;
          }
        }
      }
    }
  }
}

class GuardPagesNontemporal : public KernelTest {};

// Every number of blocks up to the widest batch of a kernel (64 blocks), and some with every rest.
std::vector<std::size_t> block_counts() {
  std::vector<std::size_t> counts;
  const std::size_t step = support::is_long() ? 1 : 15;
  for (std::size_t n = 0; n <= 1100; n += n < 66 ? 1 : step) counts.push_back(n);
  return counts;
}

// Outputs that end 0 to 63 bytes before a guard page, and one that begins directly after a guard
// page.
TEST_P(GuardPagesNontemporal, EveryMode_MatchesOpenSslAndAccessesOnlyItsBuffers) {
  const GuardedBuffer in(17664);
  const GuardedBuffer out(17664);
  const support::Buffer keys = support::make_key(64);
  const Bytes key = Bytes(keys).first(32);
  support::Buffer iv = support::pattern(16, 30);
  std::fill(iv.begin() + 8, iv.end(), std::uint8_t{0xff});
  iv[15] = 0xb0;  // 64 bits of CTR's counter wrap after 80 blocks
  // The tweak of a data unit whose number is `iv`.
  const support::Buffer tweak = support::evp_ecb(Direction::encrypt, Bytes(keys).last(32), iv);
  KeySchedule schedule;
  kernel().expand(schedule, key.data(), 32);
  const auto encrypts = Direction::encrypt;
  const auto decrypts = Direction::decrypt;
  struct Function {
    const char* name;
    std::function<support::Buffer(Bytes)> answer;
    std::function<void(const std::uint8_t*, std::uint8_t*, std::size_t)> run;
  };
  const auto xts = [&](decltype(Kernel::xts_encrypt) crypt) {
    return [&, crypt](const std::uint8_t* from, std::uint8_t* to, std::size_t blocks) {
      support::Buffer running(tweak);
      crypt(schedule, running.data(), from, to, 1, 16 * blocks, blocks);
    };
  };
  // GHASH is checked by tests/unit/kernel_functions_test.cpp.
  GhashKey hash;
  kernel().ghash_init(hash, tweak.data());
  support::Buffer initial(iv);
  store_be32(initial.data() + 12, 2);
  const auto inc32_answer = [&](Bytes text) { return support::evp_ctr(key, initial, text); };
  const auto gcm = [&](decltype(Kernel::gcm_encrypt) crypt) {
    return [&, crypt](const std::uint8_t* from, std::uint8_t* to, std::size_t blocks) {
      GcmCounter counter{.block = {}, .secret = false};
      std::copy(initial.begin(), initial.end(), counter.block);
      std::uint8_t state[16] = {};
      crypt(schedule, hash, counter, state, from, to, blocks);
    };
  };
  const Function functions[] = {
      {"CTR with non-temporal stores", [&](Bytes text) { return support::evp_ctr(key, iv, text); },
       [&](const auto* from, auto* to, std::size_t blocks) {
         support::Buffer counter(iv);
         kernel().ctr_nontemporal(schedule, counter.data(), from, to, blocks);
         support::Buffer expected(iv);
         add_be128(expected.data(), blocks);
         EXPECT_EQ(difference(counter, expected), "") << "the counter after " << blocks;
       }},
      {"ECB encryption with non-temporal stores",
       [&](Bytes text) { return support::evp_ecb(encrypts, key, text); },
       [&](const auto* from, auto* to, std::size_t blocks) {
         kernel().ecb_encrypt_nontemporal(schedule, from, to, blocks);
       }},
      {"ECB decryption with non-temporal stores",
       [&](Bytes text) { return support::evp_ecb(decrypts, key, text); },
       [&](const auto* from, auto* to, std::size_t blocks) {
         kernel().ecb_decrypt_nontemporal(schedule, from, to, blocks);
       }},
      {"CBC decryption with non-temporal stores",
       [&](Bytes text) { return support::evp_cbc(decrypts, key, iv, text); },
       [&](const auto* from, auto* to, std::size_t blocks) {
         support::Buffer chain(iv);
         kernel().cbc_decrypt_nontemporal(schedule, chain.data(), from, to, blocks);
         const Bytes last = blocks == 0 ? Bytes(iv) : Bytes(from + 16 * (blocks - 1), 16);
         EXPECT_EQ(difference(chain, last), "") << "the chain after " << blocks;
       }},
      {"XTS encryption with non-temporal stores",
       [&](Bytes text) { return support::evp_xts_unit(encrypts, keys, iv, text); },
       xts(kernel().xts_encrypt_nontemporal)},
      {"XTS decryption with non-temporal stores",
       [&](Bytes text) { return support::evp_xts_unit(decrypts, keys, iv, text); },
       xts(kernel().xts_decrypt_nontemporal)},
      {"GCM encryption with non-temporal stores", inc32_answer,
       gcm(kernel().gcm_encrypt_nontemporal)},
      {"GCM decryption with non-temporal stores", inc32_answer,
       gcm(kernel().gcm_decrypt_nontemporal)},
  };
  for (const Function& function : functions) {
    for (const std::size_t blocks : block_counts()) {
      const std::size_t n = 16 * blocks;
      const support::Buffer text = support::pattern(n);
      const support::Buffer answer = blocks == 0 ? support::Buffer() : function.answer(text);
      for (std::size_t shift = 0; shift <= 64; shift += blocks <= 66 ? 1 : 5) {
        const auto flush = shift == 64 ? GuardedBuffer::Flush::start : GuardedBuffer::Flush::end;
        const std::size_t after = shift == 64 ? 0 : shift;
        const MutableBytes source = in.place(text, flush);
        const MutableBytes room = out.place(n + after, flush);
        const MutableBytes target = room.first(n);
        std::fill(room.begin(), room.end(), std::uint8_t{0xd5});
        ASSERT_FALSE(support::leaves_upper_halves_in_use([&] {
          function.run(source.data(), target.data(), blocks);
        })) << function.name;
        ASSERT_EQ(difference(room.subspan(n), support::Buffer(after, 0xd5)), "")
            << function.name << ": wrote behind the output";
        ASSERT_EQ(difference(target, answer), "")
            << function.name << ", " << blocks << " blocks, shift " << shift;
      }
    }
  }
}

PARAES_FOR_EVERY_KERNEL(GuardPages);
PARAES_FOR_KERNELS(GuardPagesNontemporal,
                   [](const Kernel& kernel) { return kernel.ctr_nontemporal != nullptr; });
#if !defined(__x86_64__)
// No kernel of another architecture has non-temporal stores.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GuardPagesNontemporal);
#endif

}  // namespace
}  // namespace paraes
