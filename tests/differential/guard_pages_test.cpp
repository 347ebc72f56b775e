// Every operation with an inaccessible page directly before or after each buffer: messages, keys,
// IVs, AAD and tags.

#include <gtest/gtest.h>

#include <algorithm>

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

class GuardPagesNontemporalCtr : public BuildTest {};

// Outputs that end 0 to 63 bytes before a guard page, and one that begins directly after a guard
// page.
TEST_P(GuardPagesNontemporalCtr, AccessesOnlyItsBuffersForEveryAlignment) {
  const GuardedBuffer in(2048);
  const GuardedBuffer out(2048);
  const FaultNote note;
  const support::Buffer key = support::make_key(32);
  const support::Buffer iv = support::pattern(16, 30);
  KeySchedule schedule;
  row().expand(schedule, key.data(), 32);
  std::size_t calls = 0;
  for (std::size_t blocks = 0; blocks <= 66; ++blocks) {
    const std::size_t n = 16 * blocks;
    const support::Buffer plain = support::pattern(n);
    const support::Buffer cipher = support::evp_ctr(key, iv, plain);
    FaultNote::set("CTR with non-temporal stores", n);
    for (std::size_t shift = 0; shift <= 64; ++shift) {
      const auto flush = shift == 64 ? GuardedBuffer::Flush::start : GuardedBuffer::Flush::end;
      const std::size_t after = shift == 64 ? 0 : shift;
      const MutableBytes source = in.place(plain, flush);
      const MutableBytes target = out.place(n + after, flush).first(n);
      support::Buffer counter(iv);
      row().ctr_nontemporal(schedule, counter.data(), source.data(), target.data(), blocks);
      ASSERT_EQ(difference(target, cipher), "") << blocks << " blocks, shift " << shift;
      ++calls;
    }
  }
  support::report("guard pages, CTR with non-temporal stores: " + std::to_string(calls) +
                  " calls with kernel " + support::build_name(row()));
}

PARAES_FOR_EVERY_BUILD(GuardPages);
PARAES_FOR_BUILDS(GuardPagesNontemporalCtr,
                  [](const Kernel& row) { return row.ctr_nontemporal != nullptr; });

}  // namespace
}  // namespace paraes
