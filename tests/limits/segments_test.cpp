// The last segments that the formats have room for: 2^38 of c2sp and paraes, 2^32 of tink. Files of
// these sizes are simulated, and of each message only the end is sealed and opened.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "paraes/error.hpp"
#include "paraes/messages.hpp"
#include "tests/limits/simulated.hpp"
#include "tests/support/buffers.hpp"
#include "tests/support/evp_oracle.hpp"
#include "tests/support/memory_io.hpp"
#include "tests/support/message_of.hpp"

namespace paraes {
namespace {

using limits::plain_from;
using limits::PlainSource;
using limits::SparseFile;
using limits::SparseSource;
using support::Buffer;
using support::caught;
using support::difference;
using support::Pairs;
using support::pairs_of;

const Buffer key = support::make_key(32);

constexpr std::uint64_t most_of_c2sp = std::uint64_t{1} << 38;
constexpr std::uint64_t most_of_tink = std::uint64_t{1} << 32;

struct Format {
  std::string name;
  std::shared_ptr<const Message> message;
  std::uint64_t most;  // segments, by docs/formats.md

  [[nodiscard]] const SegmentLayout& layout() const { return message->layout(); }
  // The longest plaintext.
  [[nodiscard]] std::uint64_t longest() const {
    const std::uint64_t end = layout().plain_offset(most);
    return layout().last == SegmentLayout::Last::any ? end : end - 1;
  }
  [[nodiscard]] std::uint64_t last() const { return most - 1; }
};

Format tink(std::uint64_t segment_bytes, std::size_t derived_key_bytes) {
  TinkParameters parameters;
  parameters.segment_bytes = segment_bytes;
  parameters.derived_key_bytes = derived_key_bytes;
  return {"tink, segments of " + std::to_string(segment_bytes),
          std::make_shared<Message>(new_tink_message(parameters, key, {}), Execution{}),
          most_of_tink};
}

// Formats whose segments are small enough to process some of them.
std::vector<Format> formats() {
  return {
      {"c2sp", std::make_shared<Message>(new_c2sp_message(key, {}), Execution{}), most_of_c2sp},
      {"paraes",
       std::make_shared<Message>(new_paraes_message(Preface::for_key(32), key, {}), Execution{}),
       most_of_c2sp},
      tink(41, 16),
      tink(4096, 16),
      tink(std::uint64_t{1} << 20, 32)};
}

// Adds formats with the largest segments that are allowed: the longest messages have almost 2^63
// bytes.
std::vector<Format> all_formats() {
  std::vector<Format> all = formats();
  all.push_back(tink((std::uint64_t{1} << 31) - 1, 32));
  return all;
}

// The share of a message that has its last segments, at most some thousand.
template <class Options>
Options of_last_share() {
  Options options;
  options.share = {.index = (1U << 31) - 1, .count = 1U << 31};
  return options;
}

// The sealed segment by OpenSSL, with the nonce where the format puts the index.
Buffer sealed_by_openssl(const Message& message, std::uint64_t index, bool last, Bytes plain) {
  const SegmentKey& secret = message.parts().secret;
  Buffer nonce(secret.base_nonce.begin(), secret.base_nonce.end());
  if (secret.nonces == SegmentCipher::Nonces::counted) {
    for (unsigned i = 0; i < 8; ++i) nonce[11 - i] ^= static_cast<std::uint8_t>(index >> 8 * i);
  } else {
    for (unsigned i = 0; i < 4; ++i) nonce[10 - i] = static_cast<std::uint8_t>(index >> 8 * i);
    nonce[11] = last ? 1 : 0;
  }
  const support::Sealed sealed = support::evp_gcm_encrypt(secret.key.span(), nonce, {}, plain);
  Buffer all(sealed.text);
  all.insert(all.end(), sealed.tag.begin(), sealed.tag.end());
  return all;
}

// The end of the longest message of a format, sealed as the last share.
struct Longest {
  explicit Longest(const Format& format)
      : bytes(format.longest()), sealed_bytes(format.layout().sealed_bytes(bytes)) {
    PlainSource source(bytes);
    result = seal_message(source, *format.message, file, of_last_share<TransferOptions>());
  }

  // Opens its file, or what the first `size` bytes of that are.
  OpenResult open(const Format& format, SparseFile* out, const OpenOptions& options) const {
    return open(format, out, options, sealed_bytes);
  }
  OpenResult open(const Format& format, SparseFile* out, const OpenOptions& options,
                  std::uint64_t size) const {
    SparseSource source(file, size);
    return open_message(source, *format.message, out, options);
  }

  std::uint64_t bytes;
  std::uint64_t sealed_bytes;
  SparseFile file;
  TransferResult result;
};

TEST(FormatLimits, LayoutOfTheLongestMessage_IsThatOfTheFormat) {
  for (const Format& format : all_formats()) {
    SCOPED_TRACE(format.name);
    const SegmentLayout& l = format.layout();
    const std::uint64_t bytes = format.longest();
    EXPECT_EQ(l.max_segments, format.most);
    EXPECT_EQ(l.segments_of(bytes), format.most);
    EXPECT_EQ(l.segment_at(bytes - 1), format.last());
    EXPECT_EQ(l.plain_offset(format.last()) + l.segment_bytes,
              l.last == SegmentLayout::Last::any ? bytes : bytes + 1);
    EXPECT_EQ(l.sealed_bytes(bytes), l.header_bytes + bytes + 16 * format.most);
    EXPECT_LT(l.sealed_bytes(bytes), std::uint64_t{1} << 63);
    const SegmentLayout::Extent extent = l.extent_of(l.sealed_bytes(bytes));
    EXPECT_EQ(extent.segments, format.most);
    EXPECT_EQ(extent.plain_bytes, bytes);
    // All sizes above are refused, to the last number that a size can be.
    for (const std::uint64_t more : {bytes + 1, bytes + l.segment_bytes, std::uint64_t{1} << 63,
                                     UINT64_MAX - 16, UINT64_MAX - 1, UINT64_MAX}) {
      EXPECT_THROW(static_cast<void>(l.segments_of(more)), InvalidArgument) << more;
      EXPECT_THROW(static_cast<void>(l.sealed_bytes(more)), InvalidArgument) << more;
    }
    const std::uint64_t sealed = l.sealed_bytes(bytes);
    for (const std::uint64_t more : {sealed + 1, sealed + 16, sealed + 17, sealed + 18,
                                     std::uint64_t{1} << 63, UINT64_MAX - 16, UINT64_MAX}) {
      EXPECT_THROW(static_cast<void>(l.extent_of(more)), IntegrityError) << more;
    }
  }
}

TEST(FormatLimits, LastSegments_AreSealedAsByOpenSsl) {
  for (const Format& format : formats()) {
    SCOPED_TRACE(format.name);
    const SegmentLayout& l = format.layout();
    const Longest longest(format);
    EXPECT_EQ(longest.result.plain_bytes, longest.bytes);
    EXPECT_EQ(longest.result.sealed_bytes, longest.sealed_bytes);
    EXPECT_EQ(longest.file.end(), longest.sealed_bytes);
    ASSERT_GE(longest.result.segments, 1U);
    const std::uint64_t first = format.most - longest.result.segments;
    for (const std::uint64_t index : {first, format.last()}) {
      const bool last = index == format.last();
      const std::uint64_t begin = l.plain_offset(index);
      const Buffer plain = plain_from(
          begin, static_cast<std::size_t>(last ? longest.bytes - begin : l.segment_bytes));
      Buffer sealed(plain.size() + 16);
      longest.file.read_at(l.sealed_offset(index), sealed);
      EXPECT_EQ(difference(sealed, sealed_by_openssl(*format.message, index, last, plain)), "")
          << "segment " << index;
    }
  }
}

TEST(FormatLimits, OneByteMore_IsNotSealed) {
  for (const Format& format : all_formats()) {
    SCOPED_TRACE(format.name);
    for (const std::uint64_t bytes :
         {format.longest() + 1, std::uint64_t{1} << 63, UINT64_MAX - 4096, UINT64_MAX}) {
      PlainSource source(bytes);
      source.most_reads = 0;
      SparseFile file;
      EXPECT_THROW(seal_message(source, *format.message, file), InvalidArgument) << bytes;
      EXPECT_EQ(source.reads, 0U);
      EXPECT_EQ(file.parts(), 0U);
    }
  }
}

struct Range {
  std::uint64_t offset;
  std::optional<std::uint64_t> length;

  [[nodiscard]] OpenOptions options() const {
    OpenOptions options;
    options.offset = offset;
    options.length = length;
    return options;
  }
};

TEST(FormatLimits, RangesAtTheEndOfTheLongestMessage_AreOpened) {
  for (const Format& format : formats()) {
    SCOPED_TRACE(format.name);
    const Longest longest(format);
    const std::uint64_t end = longest.bytes;
    const std::uint64_t begin = format.layout().plain_offset(format.last());
    // Within the last segment, from one to the next, nothing, and to an end that is not given.
    for (const Range& range :
         {Range{end - 1, 1}, Range{begin, {}}, Range{std::max(begin, end - 24), 3},
          Range{begin - 1, end - begin + 1}, Range{end, 0}, Range{end, {}}}) {
      if (range.offset < begin && longest.result.segments < 2) continue;
      SparseFile out;
      const OpenResult result = longest.open(format, &out, range.options());
      const auto bytes = static_cast<std::size_t>(range.length.value_or(end - range.offset));
      EXPECT_EQ(result.plain_bytes, bytes);
      EXPECT_LE(result.segments, 2U);
      Buffer plain(bytes);
      out.read_at(0, plain);
      EXPECT_EQ(difference(plain, plain_from(range.offset, bytes)), "") << "from " << range.offset;
    }
    for (const Range& range :
         {Range{end + 1, {}}, Range{end, 1}, Range{end - 1, 2}, Range{UINT64_MAX, {}},
          Range{UINT64_MAX, UINT64_MAX}, Range{1, UINT64_MAX}, Range{end - 1, UINT64_MAX}}) {
      SparseFile out;
      EXPECT_THROW(longest.open(format, &out, range.options()), InvalidArgument)
          << "from " << range.offset;
      EXPECT_EQ(out.parts(), 0U);
    }
  }
}

// The last share: whole, cut, and with a damaged last segment.
TEST(FormatLimits, LastSegments_AreVerifiedAndSalvaged) {
  for (const Format& format : formats()) {
    SCOPED_TRACE(format.name);
    Longest longest(format);
    auto options = of_last_share<OpenOptions>();
    SparseFile out;
    const OpenResult result = longest.open(format, &out, options);
    EXPECT_EQ(result.plain_bytes, longest.bytes);
    EXPECT_EQ(result.segments, longest.result.segments);
    EXPECT_EQ(out.end(), longest.bytes);
    EXPECT_EQ(longest.open(format, nullptr, options).segments, result.segments);
    // A file that is cut after any but the last segment is as long as another message.
    if (longest.result.segments >= 2) {
      const std::uint64_t cut = format.layout().sealed_offset(format.last());
      EXPECT_THROW(longest.open(format, nullptr, options, cut), IntegrityError);
    }
    longest.file.flip(longest.sealed_bytes - 1);
    const auto damage = caught<BadSegment>([&] { return longest.open(format, nullptr, options); });
    ASSERT_TRUE(damage);
    const std::uint64_t begin = format.layout().plain_offset(format.last());
    EXPECT_EQ(damage->segment(), format.last());
    EXPECT_EQ(damage->plain_offset(), begin);

    std::vector<BadRange> bad;
    options.salvage = &bad;
    const OpenResult salvaged = longest.open(format, nullptr, options);
    EXPECT_EQ(salvaged.intact + 1, longest.result.segments);
    EXPECT_FALSE(salvaged.truncated);
    EXPECT_EQ(pairs_of(bad), (Pairs{{begin, longest.bytes - begin}}));
  }
}

// The list of damage grows with the number of holes in the message, not with that of its segments.
TEST(Salvage, DamageOfManySegments_TakesLittleMemory) {
  const Message message(new_c2sp_message(key, {}), {});
  constexpr std::uint64_t segments = 20000;
  const SparseFile zeros;
  for (const int threads : {1, 4}) {
    std::vector<BadRange> bad;
    OpenOptions options;
    options.threads = threads;
    options.salvage = &bad;
    // The list of a share is not joined at its end.
    options.share = {.index = 0, .count = 2};
    SparseSource source(zeros, message.layout().sealed_bytes(2 * segments * 16384));
    const OpenResult result = open_message(source, message, nullptr, options);
    EXPECT_EQ(result.intact, 0U);
    EXPECT_GE(result.segments, segments - 16);
    EXPECT_LE(bad.size(), 2048U);
    finish_salvage(message, result, bad);
    EXPECT_EQ(pairs_of(bad), (Pairs{{0, result.segments * 16384}}));
  }
}

// One segment more than the format has room for: damage, of which nothing is read. With salvage, as
// many segments as the format allows are kept.
TEST(FormatLimits, OneSegmentMore_IsNotOpened) {
  for (const Format& format : all_formats()) {
    SCOPED_TRACE(format.name);
    const SegmentLayout& l = format.layout();
    const std::uint64_t too_long = l.sealed_offset(format.most) + 17;
    const SparseFile empty;
    for (const std::uint64_t size :
         {too_long, std::uint64_t{1} << 63, UINT64_MAX - 4096, UINT64_MAX}) {
      SparseSource source(empty, size);
      source.most_reads = 0;
      SparseFile out;
      EXPECT_THROW(open_message(source, *format.message, &out), IntegrityError) << size;
      EXPECT_EQ(source.reads, 0U);
      EXPECT_EQ(out.parts(), 0U);
      SparseSource again(empty, size);
      again.most_reads = 0;
      const Message other(new_c2sp_message(key, {}), {});
      if (l.last == SegmentLayout::Last::shorter) {
        EXPECT_THROW(reseal_message(again, *format.message, other, out), IntegrityError) << size;
      }
      EXPECT_THROW(verify_and_replace_header(again, *format.message, {}, out), IntegrityError)
          << size;
      EXPECT_EQ(again.reads, 0U);
      EXPECT_EQ(out.parts(), 0U);
    }
  }
  for (const Format& format : formats()) {
    SCOPED_TRACE(format.name);
    const SegmentLayout& l = format.layout();
    // Segment max_segments - 1, in front of a further one.
    const std::uint64_t allowed = l.plain_offset(format.most);
    SparseFile file;
    const Buffer plain =
        plain_from(l.plain_offset(format.last()), static_cast<std::size_t>(l.segment_bytes));
    file.write_at(l.sealed_offset(format.last()),
                  sealed_by_openssl(*format.message, format.last(), false, plain));
    std::vector<BadRange> bad;
    auto options = of_last_share<OpenOptions>();
    options.salvage = &bad;
    SparseSource source(file, l.sealed_offset(format.most) + 17);
    SparseFile out;
    const OpenResult result = open_message(source, *format.message, &out, options);
    EXPECT_EQ(result.intact, 1U);
    EXPECT_TRUE(result.truncated);
    EXPECT_EQ(result.plain_bytes, allowed);
    EXPECT_EQ(out.end(), allowed);
    ASSERT_FALSE(bad.empty());
    EXPECT_EQ(bad.back().offset, allowed);
    EXPECT_EQ(bad.back().bytes, 0U);
  }
}

TEST(FormatLimits, LastSegmentInMemory_IsSealedAndOpened) {
  for (const Format& format : all_formats()) {
    SCOPED_TRACE(format.name);
    const Buffer plain = plain_from(format.layout().plain_offset(format.last()), 9);
    Buffer sealed(plain.size() + 16);
    seal_segments(*format.message, format.last(), true, plain, sealed);
    EXPECT_EQ(difference(sealed, sealed_by_openssl(*format.message, format.last(), true, plain)),
              "");
    Buffer opened(plain.size());
    open_segments(*format.message, format.last(), true, sealed, opened);
    EXPECT_EQ(difference(opened, plain), "");

    // A file that ends with it.
    const SegmentLayout& l = format.layout();
    SparseFile file;
    file.write_at(l.sealed_offset(format.last()), sealed);
    SparseSource source(file, l.sealed_offset(format.last()) + sealed.size());
    SparseFile out;
    OpenOptions options;
    options.offset = l.plain_offset(format.last()) + 2;
    EXPECT_EQ(open_message(source, *format.message, &out, options).plain_bytes, 7U);
    out.read_at(0, MutableBytes(opened).first(7));
    EXPECT_EQ(difference(Bytes(opened).first(7), Bytes(plain).subspan(2)), "");
  }
}

TEST(FormatLimits, SegmentsInMemoryBehindTheLast_AreRefused) {
  for (const Format& format : formats()) {
    SCOPED_TRACE(format.name);
    const SegmentLayout& l = format.layout();
    const auto whole = static_cast<std::size_t>(l.segment_bytes);
    const Buffer text(whole + 16, 0x11);
    for (const std::uint64_t first : {format.most, format.most + 1, std::uint64_t{1} << 50,
                                      std::uint64_t{1} << 63, UINT64_MAX - 1, UINT64_MAX}) {
      for (const bool ends : {true, false}) {
        SCOPED_TRACE(std::to_string(first) + (ends ? ", ends" : ""));
        const std::size_t n = ends ? 5 : whole;
        Buffer out(n + 16, 0x5a);
        EXPECT_THROW(seal_segments(*format.message, first, ends, Bytes(text).first(n), out),
                     InvalidArgument);
        EXPECT_EQ(out, Buffer(n + 16, 0x5a));
        out.resize(n);
        EXPECT_THROW(open_segments(*format.message, first, ends, Bytes(text).first(n + 16), out),
                     Error);
        EXPECT_EQ(out, Buffer(n, 0x5a));
      }
    }
    // Two segments, of which the second is too many.
    const Buffer two(2 * whole, 0x11);
    Buffer out(two.size() + 32, 0x5a);
    EXPECT_THROW(seal_segments(*format.message, format.last(), false, two, out), InvalidArgument);
    EXPECT_THROW(seal_segments(*format.message, format.last(), true, two, out), InvalidArgument);
    EXPECT_EQ(out, Buffer(two.size() + 32, 0x5a));
  }
}

// With options.share, all segments of a message are processed once, by whatever number of
// processes.
TEST(FormatLimits, SharesOfTheLongestMessage_MeetWhereOneEnds) {
  for (const Format& format : formats()) {
    if (format.layout().segment_bytes > 65536) continue;
    SCOPED_TRACE(format.name);
    const std::uint64_t bytes = format.longest();
    for (const unsigned count : {(1U << 31) - 1, 1U << 31, UINT32_MAX}) {
      std::uint64_t end = 0;
      for (const unsigned index : {count - 3, count - 2, count - 1}) {
        PlainSource source(bytes);
        SparseFile file;
        TransferOptions options;
        options.share = {.index = index, .count = count};
        const TransferResult result = seal_message(source, *format.message, file, options);
        if (result.segments == 0) continue;  // more shares than chunks
        const SegmentLayout& l = format.layout();
        const std::uint64_t first =
            1 + (file.begin() - l.sealed_offset(1)) / (l.segment_bytes + segment_tag_bytes);
        EXPECT_EQ(file.begin(), l.sealed_offset(first));
        if (end != 0) {
          EXPECT_EQ(first, end) << index;
        }
        end = first + result.segments;
      }
      EXPECT_EQ(end, format.most) << count << " shares";
    }
  }
}

}  // namespace
}  // namespace paraes
