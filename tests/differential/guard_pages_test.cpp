// Every operation with an inaccessible page directly before or after each buffer: messages, keys,
// IVs, AAD and tags.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "tests/support/buffers.hpp"
#include "tests/support/builds.hpp"
#include "tests/support/operations.hpp"

namespace paraes {
namespace {

using support::all_operations;
using support::BuildTest;
using support::difference;
using support::FaultNote;
using support::GuardedBuffer;
using support::Inputs;
using support::Operation;
using support::Task;

class GuardPages : public BuildTest {};

TEST_P(GuardPages, EveryMode_AccessesOnlyItsBuffersForEveryLengthTo1100) {
  const GuardedBuffer in(1100);
  const GuardedBuffer out(1100);
  const GuardedBuffer key(64);
  const GuardedBuffer iv(64);
  const GuardedBuffer aad(128);
  const GuardedBuffer tag_in(16);
  const GuardedBuffer tag_out(16);
  const FaultNote note;
  std::size_t messages = 0;
  for (const Operation& operation : all_operations()) {
    for (std::size_t n = operation.min_bytes; n <= 1100; n += operation.step) {
      FaultNote::set(operation.name, n);
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
          ++messages;
        }
      }
    }
  }
  support::report("guard pages, every length to 1,100: " + std::to_string(messages) +
                  " messages with kernel " + support::build_name(row()));
}

class GuardPagesNontemporal : public BuildTest {};

// Outputs that end 0 to 63 bytes before a guard page, and one that begins directly after a guard
// page.
TEST_P(GuardPagesNontemporal, EveryMode_AccessesOnlyItsBuffersForEveryAlignment) {
  const GuardedBuffer in(2048);
  const GuardedBuffer out(2048);
  const FaultNote note;
  const support::Buffer keys = support::make_key(64);
  const Bytes key = Bytes(keys).first(32);
  const support::Buffer iv = support::pattern(16, 30);
  // That of a data unit whose number is `iv`.
  const support::Buffer tweak = support::evp_ecb(Direction::encrypt, Bytes(keys).last(32), iv);
  KeySchedule schedule;
  row().expand(schedule, key.data(), 32);
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
  // GHASH is checked by tests/unit/rows_test.cpp.
  GhashKey hash;
  row().ghash_init(hash, tweak.data());
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
         row().ctr_nontemporal(schedule, counter.data(), from, to, blocks);
       }},
      {"ECB encryption with non-temporal stores",
       [&](Bytes text) { return support::evp_ecb(encrypts, key, text); },
       [&](const auto* from, auto* to, std::size_t blocks) {
         row().ecb_encrypt_nontemporal(schedule, from, to, blocks);
       }},
      {"ECB decryption with non-temporal stores",
       [&](Bytes text) { return support::evp_ecb(decrypts, key, text); },
       [&](const auto* from, auto* to, std::size_t blocks) {
         row().ecb_decrypt_nontemporal(schedule, from, to, blocks);
       }},
      {"CBC decryption with non-temporal stores",
       [&](Bytes text) { return support::evp_cbc(decrypts, key, iv, text); },
       [&](const auto* from, auto* to, std::size_t blocks) {
         support::Buffer chain(iv);
         row().cbc_decrypt_nontemporal(schedule, chain.data(), from, to, blocks);
       }},
      {"XTS encryption with non-temporal stores",
       [&](Bytes text) { return support::evp_xts_unit(encrypts, keys, iv, text); },
       xts(row().xts_encrypt_nontemporal)},
      {"XTS decryption with non-temporal stores",
       [&](Bytes text) { return support::evp_xts_unit(decrypts, keys, iv, text); },
       xts(row().xts_decrypt_nontemporal)},
      {"GCM encryption with non-temporal stores", inc32_answer, gcm(row().gcm_encrypt_nontemporal)},
      {"GCM decryption with non-temporal stores", inc32_answer, gcm(row().gcm_decrypt_nontemporal)},
  };
  std::size_t calls = 0;
  for (const Function& function : functions) {
    for (std::size_t blocks = 0; blocks <= 66; ++blocks) {
      const std::size_t n = 16 * blocks;
      const support::Buffer text = support::pattern(n);
      const support::Buffer answer = blocks == 0 ? support::Buffer() : function.answer(text);
      FaultNote::set(function.name, n);
      for (std::size_t shift = 0; shift <= 64; ++shift) {
        const auto flush = shift == 64 ? GuardedBuffer::Flush::start : GuardedBuffer::Flush::end;
        const std::size_t after = shift == 64 ? 0 : shift;
        const MutableBytes source = in.place(text, flush);
        const MutableBytes target = out.place(n + after, flush).first(n);
        function.run(source.data(), target.data(), blocks);
        ASSERT_EQ(difference(target, answer), "")
            << function.name << ", " << blocks << " blocks, shift " << shift;
        ++calls;
      }
    }
  }
  support::report("guard pages, non-temporal stores: " + std::to_string(calls) +
                  " calls with kernel " + support::build_name(row()));
}

PARAES_FOR_EVERY_BUILD(GuardPages);
PARAES_FOR_BUILDS(GuardPagesNontemporal,
                  [](const Kernel& row) { return row.ctr_nontemporal != nullptr; });
#if !defined(__x86_64__)
// No kernel of another architecture has non-temporal stores.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GuardPagesNontemporal);
#endif

}  // namespace
}  // namespace paraes
