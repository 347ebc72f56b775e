// seal_segments and open_segments: consecutive segments of a message in memory.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

#include "paraes/error.hpp"
#include "paraes/messages.hpp"
#include "tests/support/buffers.hpp"
#include "tests/support/memory_io.hpp"
#include "tests/support/message_of.hpp"

namespace paraes {
namespace {

using support::Buffer;
using support::caught;
using support::difference;
using support::pattern;

const Buffer key = support::make_key(32, 1);
constexpr std::size_t tag = segment_tag_bytes;

// Tink's first segment is shorter than the others, and its last one may be full.
Message tink_message(std::uint64_t segment_bytes) {
  TinkParameters parameters;
  parameters.segment_bytes = segment_bytes;
  return {new_tink_message(parameters, key, {}), {}};
}

Message c2sp_message() { return {new_c2sp_message(key, {}), {}}; }

// Returns the output of seal_message, without the header.
Buffer sealed_by_pipeline(const Message& message, const Buffer& plain) {
  const Buffer whole = support::sealed_by(message, plain);
  return {whole.begin() + static_cast<std::ptrdiff_t>(message.header().size()), whole.end()};
}

// Seals `plain` in calls of `step` segments each.
Buffer sealed_in_steps(const Message& message, const Buffer& plain, std::uint64_t step,
                       int threads) {
  const SegmentLayout& layout = message.layout();
  const std::uint64_t count = layout.segments_of(plain.size());
  Buffer sealed(layout.sealed_bytes(plain.size()) - layout.header_bytes);
  std::size_t out = 0;
  for (std::uint64_t first = 0; first < count; first += step) {
    const bool ends = first + step >= count;
    const auto from = static_cast<std::size_t>(layout.plain_offset(first));
    const auto to =
        ends ? plain.size() : static_cast<std::size_t>(layout.plain_offset(first + step));
    const std::size_t n = to - from + tag * (ends ? count - first : step);
    seal_segments(message, first, ends, Bytes(plain).subspan(from, to - from),
                  MutableBytes(sealed).subspan(out, n), threads);
    out += n;
  }
  EXPECT_EQ(out, sealed.size());
  return sealed;
}

TEST(SegmentsInMemory, AnySteps_GiveTheBytesOfSealMessage) {
  for (const bool tink : {false, true}) {
    const Message message = tink ? tink_message(4096) : c2sp_message();
    const auto full = static_cast<std::size_t>(message.layout().segment_bytes);
    const auto first = static_cast<std::size_t>(message.layout().first_bytes);
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, first - 1, first, first + 1,
                                    first + full, first + 40 * full, first + 40 * full + 5}) {
      const Buffer plain = pattern(bytes);
      const Buffer expected = sealed_by_pipeline(message, plain);
      for (const std::uint64_t step : {1, 3, 100}) {
        for (const int threads : {1, 3}) {
          ASSERT_EQ(difference(sealed_in_steps(message, plain, step, threads), expected), "")
              << "tink " << tink << ", " << bytes << " bytes, step " << step;
        }
      }
      Buffer opened(plain.size());
      open_segments(message, 0, true, expected, opened, 2);
      ASSERT_EQ(difference(opened, plain), "");
    }
  }
}

TEST(SegmentsInMemory, LargeSegments_AreTheSame) {
  TinkParameters parameters;
  parameters.segment_bytes = 8U << 20U;
  const Message message(new_tink_message(parameters, key, {}), {.threads = 2});
  const Buffer plain = pattern((20U << 20U) + 3);
  const Buffer sealed = sealed_in_steps(message, plain, 2, 2);
  EXPECT_EQ(difference(sealed, sealed_by_pipeline(message, plain)), "");
}

TEST(SegmentsInMemory, DamagedSegments_NameTheFirstAndWipeTheOutput) {
  const Message message = c2sp_message();
  Buffer sealed = sealed_by_pipeline(message, pattern(100 * 16384));
  sealed[90 * (16384 + tag)] ^= 1;
  sealed[60 * (16384 + tag)] ^= 1;
  Buffer out(100 * 16384, 0xee);
  const auto error = caught<BadSegment>([&] { open_segments(message, 0, true, sealed, out, 3); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->segment(), 60U);
  EXPECT_EQ(out, Buffer(out.size()));
}

TEST(SegmentsInMemory, TruncationAndReordering_AreNotIntact) {
  const Message message = c2sp_message();
  Buffer sealed = sealed_by_pipeline(message, pattern(3 * 16384 + 5));
  Buffer out(2 * 16384 + 5);
  // Without segment 0, as if segment 1 were the first; and without the end, as if it ended there.
  EXPECT_THROW(open_segments(message, 0, true, Bytes(sealed).subspan(16384 + tag), out, 1),
               BadSegment);
  Buffer shorter(2 * 16384 + 100 - tag);
  EXPECT_THROW(
      open_segments(message, 0, true, Bytes(sealed).first(2 * (16384 + tag) + 100), shorter, 1),
      BadSegment);
  Buffer whole(2 * 16384);
  EXPECT_THROW(open_segments(message, 0, true, Bytes(sealed).first(2 * (16384 + tag)), whole, 1),
               IntegrityError);
}

TEST(SegmentsInMemory, WrongSizes_AreInvalidArguments) {
  const Message message = c2sp_message();
  const Buffer plain = pattern(3 * 16384);
  Buffer sealed(3 * (16384 + tag));
  EXPECT_NO_THROW(seal_segments(message, 5, false, plain, sealed, 1));
  EXPECT_THROW(seal_segments(message, 5, false, Bytes(plain).first(100), sealed, 1),
               InvalidArgument);
  EXPECT_THROW(seal_segments(message, 0, false, Bytes(plain).first(100), sealed, 1),
               InvalidArgument);
  EXPECT_THROW(
      seal_segments(message, 5, false, plain, MutableBytes(sealed).first(sealed.size() - 1), 1),
      InvalidArgument);
  const std::uint64_t most = message.layout().max_segments;
  EXPECT_THROW(seal_segments(message, most - 2, false, plain, sealed, 1), InvalidArgument);
  Buffer out(plain.size());
  EXPECT_THROW(open_segments(message, 5, false, Bytes(sealed).first(sealed.size() - 1), out, 1),
               InvalidArgument);
  EXPECT_THROW(open_segments(message, 5, false, sealed, MutableBytes(out).first(5), 1),
               InvalidArgument);
}

}  // namespace
}  // namespace paraes
