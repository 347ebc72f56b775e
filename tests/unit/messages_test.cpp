// The authenticated formats in memory: every kind of source and sink and their errors, salvage, and
// headers. tests/proofs has the layout of segments.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <utility>

#include "paraes/error.hpp"
#include "paraes/messages.hpp"
#include "tests/support/evp_oracle.hpp"
#include "tests/support/hex.hpp"
#include "tests/support/memory_io.hpp"
#include "tests/support/message_of.hpp"
#include "tests/support/one_segment.hpp"

namespace paraes {
namespace {

using support::Buffer;
using support::caught;
using support::message_of;
using support::OrderedSink;
using support::OrderedSource;
using support::Pairs;
using support::pairs_of;
using support::RandomSink;
using support::RandomSource;
using support::SilentSource;
using support::throws;
using support::TricklingSource;

TEST(SegmentLayout, TooManySegments_AreRefused) {
  const SegmentLayout l = {.header_bytes = 5,
                           .first_bytes = 7,
                           .segment_bytes = 7,
                           .max_segments = 1000,
                           .last = SegmentLayout::Last::shorter};
  EXPECT_EQ(l.segments_of(6999), 1000U);
  EXPECT_THROW(static_cast<void>(l.segments_of(7000)), InvalidArgument);
  EXPECT_NO_THROW(static_cast<void>(l.extent_of(5 + 999 * 23 + 16)));
  EXPECT_THROW(static_cast<void>(l.extent_of(5 + 1000 * 23 + 16)), IntegrityError);
  const SegmentLayout c2sp = c2sp_layout();
  EXPECT_EQ(c2sp.segments_of((std::uint64_t{1} << 52) - 1), std::uint64_t{1} << 38);
  EXPECT_THROW(static_cast<void>(c2sp.segments_of(std::uint64_t{1} << 52)), InvalidArgument);
}

TEST(TinkParameters, OutOfRange_AreRefused) {
  TinkParameters p;
  for (const std::size_t derived : {16U, 32U}) {
    p.derived_key_bytes = derived;
    p.segment_bytes = derived + 25;
    EXPECT_EQ(tink_layout(p).first_bytes, 1U);
    p.segment_bytes = derived + 24;
    EXPECT_THROW(static_cast<void>(tink_layout(p)), InvalidArgument);
    p.segment_bytes = 0x7fffffff;
    EXPECT_EQ(tink_layout(p).segment_bytes, 0x7fffffffU - 16);
    p.segment_bytes = 0x80000000;
    EXPECT_THROW(static_cast<void>(tink_layout(p)), InvalidArgument);
  }
  p.segment_bytes = 4096;
  p.derived_key_bytes = 24;
  EXPECT_THROW(static_cast<void>(tink_layout(p)), InvalidArgument);
}

const Buffer key = support::make_key(32);
const Buffer context = {1, 2, 3};

// A way to make and to open messages of one format.
struct Subject {
  const char* name;
  Message (*make)();
  Message (*open)(Bytes header);
};

const TinkParameters small_tink = {.segment_bytes = 4096, .derived_key_bytes = 16};
// Segments so large that all threads work on each of them.
const TinkParameters large_tink = {.segment_bytes = (8 << 20) + 5};

const Subject subjects[] = {
    {"paraes", [] { return Message(new_paraes_message(Preface::for_key(32), key, context), {}); },
     [](Bytes header) { return Message(open_paraes_message(header, key, context), {}); }},
    {"c2sp128", [] { return Message(new_c2sp_message(Bytes(key).first(16), {}), {}); },
     [](Bytes header) { return Message(open_c2sp_message(header, Bytes(key).first(16), {}), {}); }},
    {"tink4k", [] { return Message(new_tink_message(small_tink, key, context), {}); },
     [](Bytes header) { return Message(open_tink_message(small_tink, header, key, context), {}); }},
};

template <class SourceType, class SinkType>
Buffer seal(const Message& message, const Buffer& plain, const TransferOptions& options) {
  SourceType source(plain);
  SinkType sink;
  const TransferResult result = seal_message(source, message, sink, options);
  EXPECT_EQ(result.plain_bytes, plain.size());
  EXPECT_EQ(result.sealed_bytes, sink.data.size());
  EXPECT_EQ(result.segments, message.layout().segments_of(plain.size()));
  return sink.data;
}

template <class SourceType, class SinkType>
Buffer open(const Subject& subject, const Buffer& sealed, const OpenOptions& options) {
  SourceType source(sealed);
  Buffer header(subject.make().header().size());
  header.resize(source.read(header));
  const Message message = subject.open(header);
  SinkType sink;
  const OpenResult result = open_message(source, message, &sink, options);
  EXPECT_EQ(result.plain_bytes, sink.data.size());
  return sink.data;
}

// A message of `bytes` bytes.
struct Sample {
  Sample(const Subject& subject, std::uint64_t bytes)
      : message(subject.make()),
        plain(support::pattern(static_cast<std::size_t>(bytes))),
        sealed(seal<RandomSource, RandomSink>(message, plain, {})) {}
  Sample(const Sample&) = delete;  // its layout is that of its own message
  Sample& operator=(const Sample&) = delete;

  Message message;
  const SegmentLayout& layout = message.layout();
  Buffer plain;
  Buffer sealed;
};

// One of as many bytes as `segments` full segments have.
Sample full_segments(const Subject& subject, std::uint64_t segments, std::uint64_t more = 0) {
  return {subject, subject.make().layout().plain_offset(segments) + more};
}

Buffer first_bytes(const Buffer& data, std::uint64_t bytes) {
  return {data.begin(), data.begin() + static_cast<std::ptrdiff_t>(bytes)};
}

// A pipe whose reader has the header of `message` already.
OrderedSource pipe_behind_header(const Message& message, const Buffer& sealed) {
  return OrderedSource(
      {sealed.begin() + static_cast<std::ptrdiff_t>(message.header().size()), sealed.end()});
}

OpenOptions range_of(std::uint64_t offset, std::optional<std::uint64_t> length = {}) {
  OpenOptions options;
  options.offset = offset;
  options.length = length;
  return options;
}

struct Saved {
  Buffer text;
  Pairs lost;
};

// Opens a damaged message from a file or from a pipe.
Saved salvage(const Subject& subject, const Buffer& sealed, bool file) {
  std::vector<BadRange> ranges;
  OpenOptions options;
  options.salvage = &ranges;
  Buffer text = file ? open<RandomSource, RandomSink>(subject, sealed, options)
                     : open<OrderedSource, OrderedSink>(subject, sealed, options);
  return {std::move(text), pairs_of(ranges)};
}

TEST(Messages, SealAndOpen_GiveTheSameBytesForEverySourceAndSink) {
  for (const Subject& subject : subjects) {
    const std::uint64_t s = subject.make().layout().segment_bytes;
    const std::uint64_t first = subject.make().layout().first_bytes;
    for (const std::uint64_t bytes :
         {std::uint64_t{0}, std::uint64_t{1}, first - 1, first, first + 1, first + s - 1, first + s,
          first + s + 1, std::uint64_t{262144}, std::uint64_t{262144} - 1,
          3 * std::uint64_t{262144}, std::uint64_t{1000000}}) {
      const Buffer plain = support::pattern(static_cast<std::size_t>(bytes));
      for (const int threads : {1, 2, 5}) {
        for (const bool overlap : {true, false}) {
          SCOPED_TRACE(std::string(subject.name) + ", " + std::to_string(bytes) + " bytes, " +
                       std::to_string(threads) + " threads");
          OpenOptions options;
          options.threads = threads;
          options.overlap = overlap;
          const Message message = subject.make();
          const Buffer sealed = seal<RandomSource, RandomSink>(message, plain, options);
          ASSERT_EQ(sealed.size(), message.layout().sealed_bytes(bytes));
          ASSERT_EQ((seal<OrderedSource, OrderedSink>(message, plain, options)), sealed);
          ASSERT_EQ((seal<OrderedSource, RandomSink>(message, plain, options)), sealed);
          ASSERT_EQ((seal<TricklingSource, OrderedSink>(message, plain, options)), sealed);
          ASSERT_EQ((seal<TricklingSource, RandomSink>(message, plain, options)), sealed);
          ASSERT_EQ((seal<RandomSource, OrderedSink>(message, plain, options)), sealed);
          ASSERT_EQ((open<RandomSource, RandomSink>(subject, sealed, options)), plain);
          ASSERT_EQ((open<OrderedSource, OrderedSink>(subject, sealed, options)), plain);
          ASSERT_EQ((open<OrderedSource, RandomSink>(subject, sealed, options)), plain);
          ASSERT_EQ((open<TricklingSource, OrderedSink>(subject, sealed, options)), plain);
          ASSERT_EQ((open<TricklingSource, RandomSink>(subject, sealed, options)), plain);
          ASSERT_EQ((open<RandomSource, OrderedSink>(subject, sealed, options)), plain);
        }
      }
    }
  }
}

// There may be more shares than segments.
TEST(Messages, Shares_TogetherGiveTheBytesOfTheWhole) {
  for (const Subject& subject : subjects) {
    for (const std::size_t bytes : {0U, 1U, 16384U, 300000U, 2000001U}) {
      const Sample sample(subject, bytes);
      for (const unsigned count : {2U, 3U, 7U, 200U}) {
        SCOPED_TRACE(std::string(subject.name) + ", " + std::to_string(bytes) + " bytes, " +
                     std::to_string(count) + " shares");
        RandomSource plain_source(sample.plain);
        RandomSource sealed_source(sample.sealed);
        RandomSink sealed_sink;
        RandomSink plain_sink;
        std::uint64_t segments = 0;
        std::uint64_t opened = 0;
        for (unsigned index = count; index-- > 0;) {
          OpenOptions options;
          options.share = {.index = index, .count = count};
          const Message copy(sample.message.parts());
          segments += seal_message(plain_source, copy, sealed_sink, options).segments;
          opened += open_message(sealed_source, copy, &plain_sink, options).segments;
        }
        ASSERT_EQ(support::difference(sealed_sink.data, sample.sealed), "");
        ASSERT_EQ(support::difference(plain_sink.data, sample.plain), "");
        ASSERT_EQ(segments, sample.layout.segments_of(bytes));
        ASSERT_EQ(opened, segments);
      }
    }
  }
  const Message message = subjects[0].make();
  OrderedSource pipe(Buffer(100));
  RandomSink sink;
  TransferOptions half;
  half.share = {.index = 0, .count = 2};
  EXPECT_THROW(seal_message(pipe, message, sink, half), InvalidArgument);
  RandomSource source(Buffer(100));
  half.share.index = 2;
  EXPECT_THROW(seal_message(source, message, sink, half), InvalidArgument);
}

TEST(Messages, ComputeOption_ReplacesTheCipherInEveryWorker) {
  const Buffer plain = support::pattern(3000000);
  const Message message = subjects[0].make();
  std::array<std::atomic<unsigned>, 5> calls{};
  OpenOptions options;
  options.workers = 5;
  options.compute = [&](unsigned worker, std::span<SegmentCipher::Segment> segments) {
    ++calls.at(worker);
    message.cipher().crypt(Direction::encrypt, segments);
  };
  const Buffer sealed = seal<OrderedSource, OrderedSink>(message, plain, options);
  unsigned chunks = 0;
  for (const auto& count : calls) chunks += count;
  EXPECT_EQ(chunks, (plain.size() + 262143) / 262144);
  EXPECT_EQ((open<RandomSource, RandomSink>(subjects[0], sealed, {})), plain);
  options.compute = [&](unsigned, std::span<SegmentCipher::Segment>) {
    throw DeviceError("the device failed");
  };
  EXPECT_THROW((seal<RandomSource, RandomSink>(message, plain, options)), DeviceError);
}

TEST(SegmentCipher, NoncesAndTags_MatchTheFormats) {
  const Buffer base = support::make_key(12, 9);
  const Buffer plain = support::pattern(100);
  const SegmentCipher counted(key, base, SegmentCipher::Nonces::counted, {});
  const SegmentCipher prefixed(key, base, SegmentCipher::Nonces::prefixed, {});
  for (const std::uint64_t index : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{0xfedcba98},
                                    std::uint64_t{0x0102030405060708}}) {
    for (const bool last : {false, true}) {
      Buffer nonce = base;
      for (unsigned i = 0; i < 8; ++i) {
        nonce[11 - i] = static_cast<std::uint8_t>(nonce[11 - i] ^ (index >> (8 * i)));
      }
      Buffer sealed(116);
      support::seal_segment(counted, index, last, plain, sealed);
      support::Sealed expected = support::evp_gcm_encrypt(key, nonce, {}, plain);
      EXPECT_EQ(support::difference(Bytes(sealed).first(100), expected.text), "");
      EXPECT_EQ(support::difference(Bytes(sealed).last(16), expected.tag), "");

      if (index > 0xffffffff) continue;  // a Tink message has no such segment
      nonce = base;
      for (unsigned i = 0; i < 4; ++i) nonce[10 - i] = static_cast<std::uint8_t>(index >> (8 * i));
      nonce[11] = last ? 1 : 0;
      support::seal_segment(prefixed, index, last, plain, sealed);
      expected = support::evp_gcm_encrypt(key, nonce, {}, plain);
      EXPECT_EQ(support::difference(Bytes(sealed).first(100), expected.text), "");
      Buffer opened(100);
      EXPECT_TRUE(support::open_segment(prefixed, index, last, sealed, opened));
      EXPECT_EQ(opened, plain);
      EXPECT_FALSE(support::open_segment(prefixed, index, !last, sealed, opened));
      EXPECT_EQ(opened, Buffer(100)) << "the output is not zero";
    }
  }
  Buffer wrong(115);
  EXPECT_THROW(support::seal_segment(counted, 0, false, plain, wrong), InvalidArgument);
}

// A Tink nonce holds the index in 4 bytes: a larger one would repeat the nonce of another segment.
TEST(SegmentCipher, IndexWithoutRoomInTheNonce_IsRefused) {
  const Buffer base = support::make_key(12, 9);
  const SegmentCipher counted(key, base, SegmentCipher::Nonces::counted, {});
  const SegmentCipher prefixed(key, base, SegmentCipher::Nonces::prefixed, {});
  const Buffer plain = support::pattern(20);
  const Buffer untouched(36, 0xee);
  constexpr std::uint64_t most = 0xffffffff;
  for (const std::uint64_t index : {most + 1, most + 2, std::uint64_t{1} << 63}) {
    for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
      Buffer out[2] = {untouched, untouched};
      SegmentCipher::Segment good{.index = 0, .in = plain, .out = out[0]};
      SegmentCipher::Segment bad{.index = index, .in = plain, .out = out[1]};
      if (direction == Direction::decrypt) {
        good.in = bad.in = untouched;
        good.out = good.out.first(20);
        bad.out = bad.out.first(20);
      }
      SegmentCipher::Segment list[] = {good, bad};
      EXPECT_THROW(prefixed.crypt(direction, list), InvalidArgument) << index;
      CipherSegment batch[] = {{&counted, good}, {&prefixed, bad}};
      EXPECT_THROW(SegmentCipher::crypt(direction, batch), InvalidArgument) << index;
      EXPECT_EQ(out[0], untouched) << "a segment was processed before the check";
      EXPECT_EQ(out[1], untouched);
    }
    EXPECT_THROW(static_cast<void>(prefixed.nonces().nonce(index, false)), InvalidArgument);
    EXPECT_NO_THROW(static_cast<void>(counted.nonces().nonce(index, false)));
  }
  Buffer sealed(36);
  EXPECT_NO_THROW(support::seal_segment(prefixed, most, true, plain, sealed));
  EXPECT_NO_THROW(support::seal_segment(counted, ~std::uint64_t{0}, true, plain, sealed));
}

// The buffers for large segments grow while a pipe is read.
TEST(Messages, LargeSegmentsInPipes_KeepAllBytes) {
  const Subject large = {"tink8m",
                         [] {
                           return Message(new_tink_message(large_tink, key, context),
                                          {.kernel = {}, .threads = 3});
                         },
                         [](Bytes header) {
                           return Message(open_tink_message(large_tink, header, key, context),
                                          {.kernel = {}, .threads = 2});
                         }};
  constexpr std::size_t mib = std::size_t{1} << 20;
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, 4 * mib - 1, 4 * mib, 4 * mib + 1,
                                  8 * mib - 60, 8 * mib, 17 * mib}) {
    SCOPED_TRACE(bytes);
    const Buffer plain = support::pattern(bytes);
    const Message message = large.make();
    const Buffer sealed = seal<RandomSource, RandomSink>(message, plain, {});
    EXPECT_EQ(support::difference(seal<OrderedSource, OrderedSink>(message, plain, {}), sealed),
              "");
    std::vector<BadRange> bad;
    OpenOptions salvage;
    salvage.salvage = &bad;
    for (const OpenOptions& options : {OpenOptions{}, salvage}) {
      EXPECT_EQ(
          support::difference(open<OrderedSource, OrderedSink>(large, sealed, options), plain), "");
      EXPECT_EQ(support::difference(open<RandomSource, RandomSink>(large, sealed, options), plain),
                "");
    }
    EXPECT_TRUE(bad.empty());
  }
}

// Keeps what one reads or writes at an offset of a file, for all but small pieces such as headers.
class Transfers {
 public:
  static constexpr std::size_t page = 4096;

  void add(std::uint64_t offset, Bytes data) {
    if (data.size() < page) return;
    const std::lock_guard lock(mutex_);
    const auto address = reinterpret_cast<std::uintptr_t>(data.data());
    if (address % page != offset % page) ++misplaced_;
    ++count_;
  }

  [[nodiscard]] unsigned count() const { return count_; }
  [[nodiscard]] unsigned misplaced() const { return misplaced_; }

 private:
  std::mutex mutex_;
  unsigned count_ = 0;
  unsigned misplaced_ = 0;
};

class WatchedSource : public RandomSource {
 public:
  WatchedSource(Buffer data, Transfers& transfers)
      : RandomSource(std::move(data)), transfers_(transfers) {}
  [[nodiscard]] std::size_t read_at(std::uint64_t offset, MutableBytes buffer) const override {
    transfers_.add(offset, buffer);
    return RandomSource::read_at(offset, buffer);
  }

 private:
  Transfers& transfers_;
};

class WatchedSink : public RandomSink {
 public:
  explicit WatchedSink(Transfers& transfers) : transfers_(transfers) {}
  void write_at(std::uint64_t offset, Bytes bytes) override {
    transfers_.add(offset, bytes);
    RandomSink::write_at(offset, bytes);
  }

 private:
  Transfers& transfers_;
};

TEST(Messages, ChunksOfFiles_BeginAsFarIntoAPageAsInTheFile) {
  const Buffer plain = support::pattern(3000000);
  for (const Subject& subject : subjects) {
    SCOPED_TRACE(subject.name);
    const Message message = subject.make();
    Transfers transfers;
    WatchedSource source(plain, transfers);
    WatchedSink sealed(transfers);
    seal_message(source, message, sealed);
    EXPECT_GT(transfers.count(), 20U);
    EXPECT_EQ(transfers.misplaced(), 0U);
    for (const std::uint64_t offset : {0U, 1U, 300001U}) {
      Transfers opening;
      WatchedSource ciphertext(sealed.data, opening);
      WatchedSink opened(opening);
      OpenOptions options;
      options.offset = offset;
      open_message(ciphertext, message, &opened, options);
      EXPECT_EQ(support::difference(opened.data, Bytes(plain).subspan(offset)), "") << offset;
      EXPECT_GT(opening.count(), 20U);
      EXPECT_EQ(opening.misplaced(), 0U) << offset;
    }
  }
}

TEST(Messages, OpenRange_ReadsOnlyTheSegmentsOfTheRange) {
  for (const Subject& subject : subjects) {
    const std::size_t bytes = 700000;
    const Sample sample(subject, bytes);
    const SegmentLayout& l = sample.layout;
    const std::uint64_t s = l.segment_bytes;
    const std::pair<std::uint64_t, std::uint64_t> ranges[] = {{0, 0},
                                                              {0, 1},
                                                              {0, bytes},
                                                              {1, 1},
                                                              {s, 1},
                                                              {s - 1, 2},
                                                              {2 * s, 2 * s},
                                                              {s + 5, 9 * s},
                                                              {bytes - 1, 1},
                                                              {bytes, 0},
                                                              {bytes - s, s},
                                                              {300000, 300000},
                                                              {l.first_bytes, s},
                                                              {l.first_bytes - 1, s + 2}};
    for (const auto& [offset, length] : ranges) {
      SCOPED_TRACE(std::string(subject.name) + " " + std::to_string(offset) + "+" +
                   std::to_string(length));
      OpenOptions options = range_of(offset, length);
      options.threads = 2;
      RandomSource source(sample.sealed);
      RandomSink sink;
      open_message(source, sample.message, &sink, options);
      const Bytes expected = Bytes(sample.plain).subspan(offset, length);
      ASSERT_EQ(support::difference(sink.data, expected), "");
      const std::uint64_t low =
          l.sealed_offset(std::min(l.segment_at(offset), l.segments_of(bytes) - 1));
      const std::uint64_t high =
          offset + length == bytes
              ? sample.sealed.size()
              : l.sealed_offset(l.segment_at(offset + (length == 0 ? 0 : length - 1)) + 1);
      for (const auto& [begin, end] : source.ranges()) {
        EXPECT_GE(begin, low);
        EXPECT_LE(end, high);
      }
    }
    RandomSource source(sample.sealed);
    OrderedSource pipe(sample.sealed);
    for (Source* from : {static_cast<Source*>(&source), static_cast<Source*>(&pipe)}) {
      EXPECT_THROW(open_message(*from, sample.message, nullptr, range_of(bytes, 1)),
                   InvalidArgument);
    }
  }
}

TEST(Messages, OpenToPipe_WritesOnlyTheSegmentsBeforeTheDamage) {
  for (const Subject& subject : subjects) {
    const Sample sample(subject, 600000);
    const SegmentLayout& l = sample.layout;
    for (const std::uint64_t bad : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{17},
                                    std::uint64_t{30}, l.segments_of(600000) - 1}) {
      for (const int threads : {1, 3}) {
        Buffer damaged = sample.sealed;
        damaged[static_cast<std::size_t>(l.sealed_offset(bad))] ^= 1;
        OpenOptions options;
        options.threads = threads;
        OrderedSource pipe = pipe_behind_header(sample.message, damaged);
        RandomSource file(damaged);
        for (Source* from : {static_cast<Source*>(&pipe), static_cast<Source*>(&file)}) {
          OrderedSink out;
          EXPECT_THROW(open_message(*from, sample.message, &out, options), IntegrityError);
          EXPECT_EQ(support::difference(out.data, Bytes(sample.plain).first(l.plain_offset(bad))),
                    "");
        }
      }
    }
  }
}

TEST(Messages, Seal_ThrowsTheErrorOfSourceOrSink) {
  const Buffer plain = support::pattern(2000000);
  for (const int threads : {1, 2, 6}) {
    for (const std::uint64_t at :
         {std::uint64_t{0}, std::uint64_t{300000}, std::uint64_t{1900000}}) {
      TransferOptions options;
      options.threads = threads;
      const Message message = subjects[0].make();
      const auto expect_failure = [&](auto& source, auto& sink, const char* text) {
        const auto error = caught<IoError>([&] { seal_message(source, message, sink, options); });
        ASSERT_TRUE(error);
        EXPECT_STREQ(error->what(), text);
      };
      RandomSource file(plain);
      OrderedSource pipe(plain);
      RandomSink target;
      OrderedSink out;
      file.fail_at = at;
      expect_failure(file, target, "cannot read it");
      expect_failure(file, out, "cannot read it");
      pipe.fail_at = at;
      expect_failure(pipe, out, "cannot read it");
      RandomSource whole(plain);
      OrderedSource stream(plain);
      target.fail_at = at;
      expect_failure(whole, target, "cannot write it");
      OrderedSink narrow;
      narrow.fail_at = at;
      expect_failure(stream, narrow, "cannot write it");
      EXPECT_LE(narrow.data.size(), at);
    }
  }
}

TEST(Messages, Seal_RefusesAFileThatShrinksOrGrows) {
  const Buffer plain = support::pattern(600000);
  for (const std::size_t changed : {std::size_t{0}, std::size_t{599999}, std::size_t{600001}}) {
    const Message message = subjects[0].make();
    RandomSource source(plain);
    source.change(support::pattern(changed));
    RandomSink sink;
    EXPECT_TRUE(throws<IoError>([&] { seal_message(source, message, sink); },
                                changed < plain.size() ? "shrank" : "grew"));
  }
}

// A damaged segment must be reported at once, also while a read waits for more data from the pipe.
TEST(Messages, OpenFromPipe_DamageCancelsAWaitingRead) {
  Sample sample(subjects[0], 700000);
  const Message& message = sample.message;
  sample.sealed[100] ^= 1;
  SilentSource pipe(sample.sealed);
  Buffer header(message.header().size());
  static_cast<void>(pipe.read(header));
  OrderedSink sink;
  OpenOptions options;
  options.threads = 2;
  EXPECT_THROW(open_message(pipe, message, &sink, options), IntegrityError);
}

TEST(Salvage, KeepsIntactSegmentsAndListsDamagedRanges) {
  for (const Subject& subject : subjects) {
    const Sample sample(subject, 600001);
    const SegmentLayout& l = sample.layout;
    Buffer damaged = sample.sealed;
    Buffer expected = sample.plain;
    for (const std::uint64_t bad : {std::uint64_t{2}, std::uint64_t{3}, std::uint64_t{20}}) {
      damaged[static_cast<std::size_t>(l.sealed_offset(bad + 1)) - 1] ^= 0x80;
      std::fill(expected.begin() + static_cast<std::ptrdiff_t>(l.plain_offset(bad)),
                expected.begin() + static_cast<std::ptrdiff_t>(l.plain_offset(bad + 1)),
                std::uint8_t{0});
    }
    const auto check = [&](const Saved& saved) {
      EXPECT_EQ(support::difference(saved.text, expected), "") << subject.name;
      EXPECT_EQ(saved.lost, (Pairs{{l.plain_offset(2), 2 * l.segment_bytes},
                                   {l.plain_offset(20), l.segment_bytes}}));
    };
    for (const bool file : {true, false}) check(salvage(subject, damaged, file));
    // The lists of all shares, once finish_salvage has sorted and joined them.
    std::vector<BadRange> ranges;
    OpenResult sum;
    RandomSource source(damaged);
    RandomSink sink;
    for (unsigned index = 5; index-- > 0;) {
      OpenOptions options;
      options.salvage = &ranges;
      options.share = {.index = index, .count = 5};
      sum.intact += open_message(source, sample.message, &sink, options).intact;
    }
    finish_salvage(sample.message, sum, ranges);
    check({sink.data, pairs_of(ranges)});
  }
}

TEST(Salvage, TruncatedMessage_KeepsTheSegmentsBeforeTheCut) {
  for (const Subject& subject : subjects) {
    const Sample sample = full_segments(subject, 3);
    const SegmentLayout& l = sample.layout;
    // Between segments 1 and 2, 3 bytes into segment 2, and within segment 1.
    for (const std::uint64_t size :
         {l.sealed_offset(2), l.sealed_offset(2) + 3, l.sealed_offset(1) + 50}) {
      SCOPED_TRACE(std::string(subject.name) + " " + std::to_string(size));
      const Buffer cut_off = first_bytes(sample.sealed, size);
      EXPECT_THROW((open<OrderedSource, OrderedSink>(subject, cut_off, {})), IntegrityError);
      EXPECT_THROW((open<RandomSource, RandomSink>(subject, cut_off, {})), IntegrityError);
      const std::uint64_t intact = size >= l.sealed_offset(2) ? 2 : 1;
      Buffer expected = first_bytes(sample.plain, l.plain_offset(intact));
      if (intact == 1) expected.resize(expected.size() + 50 - 16);
      for (const bool file : {true, false}) {
        const Saved saved = salvage(subject, cut_off, file);
        EXPECT_EQ(support::difference(saved.text, expected), "");
        ASSERT_FALSE(saved.lost.empty());
        EXPECT_EQ(saved.lost.front().first, l.plain_offset(intact));
      }
    }
  }
}

// Fewer bytes than a tag are no segment, and a full segment before them can be the last one, also
// if it is the last one of a chunk.
TEST(Salvage, BytesBehindTheMessage_LoseNothing) {
  constexpr std::uint64_t most_segments = 150;  // more than two chunks of a pipe
  for (const Subject& subject : subjects) {
    const Message message = subject.make();
    const SegmentLayout& l = message.layout();
    if (l.last != SegmentLayout::Last::any) continue;
    const Buffer text = support::pattern(static_cast<std::size_t>(l.plain_offset(most_segments)));
    for (std::uint64_t segments = 1; segments <= most_segments; ++segments) {
      const Bytes plain = Bytes(text).first(static_cast<std::size_t>(l.plain_offset(segments)));
      Buffer longer = seal<RandomSource, RandomSink>(message, {plain.begin(), plain.end()}, {});
      longer.resize(longer.size() + 1 + segments % 15);
      for (const bool file : {true, false}) {
        SCOPED_TRACE(std::string(subject.name) + " " + std::to_string(segments) +
                     (file ? " segments in a file" : " segments in a pipe"));
        const Saved saved = salvage(subject, longer, file);
        ASSERT_EQ(support::difference(saved.text, plain), "");
        ASSERT_EQ(saved.lost, (Pairs{{plain.size(), 0}}));
      }
    }
  }
}

// Enough bytes for another segment make the last one look like one that others follow.
TEST(Salvage, SegmentsBehindTheMessage_LoseNothingBeforeThem) {
  const Subject& subject = subjects[2];
  const Sample sample = full_segments(subject, 3);
  const Buffer& plain = sample.plain;
  Buffer longer = sample.sealed;
  longer.resize(longer.size() + 500);
  Buffer expected = plain;
  expected.resize(plain.size() + 500 - segment_tag_bytes);
  for (const bool file : {true, false}) {
    const Saved saved = salvage(subject, longer, file);
    EXPECT_EQ(support::difference(saved.text, expected), "");
    EXPECT_EQ(saved.lost,
              (Pairs{{plain.size(), expected.size() - plain.size()}, {expected.size(), 0}}));
  }
}

// A segment of this size is opened in place.
TEST(Pipes, BytesBehindALargeSegment_AreNotBlamedOnTheKey) {
  const TinkParameters parameters;
  const Message message(new_tink_message(parameters, key, context), {});
  const Buffer plain = support::pattern(static_cast<std::size_t>(message.layout().first_bytes));
  Buffer longer = seal<RandomSource, RandomSink>(message, plain, {});
  longer.resize(longer.size() + 5);
  OrderedSource pipe = pipe_behind_header(message, longer);
  OrderedSink sink;
  EXPECT_TRUE(
      throws<IntegrityError>([&] { open_message(pipe, message, sink); }, "ends within the tag"));
  EXPECT_EQ(support::difference(sink.data, plain), "");
}

TEST(Ranges, BeyondTheEndOfACutMessage_AreDamageAndOfAWholeOneInvalid) {
  for (const Subject& subject : subjects) {
    const Sample sample = full_segments(subject, 3, 100);
    const SegmentLayout& l = sample.layout;
    const Buffer& whole = sample.sealed;
    const auto open = [&](const Buffer& sealed, std::uint64_t offset,
                          std::optional<std::uint64_t> length) {
      RandomSource source(sealed);
      RandomSink out;
      open_message(source, sample.message, &out, range_of(offset, length));
    };
    const std::uint64_t end = sample.plain.size();
    EXPECT_THROW(open(whole, end + 1, {}), InvalidArgument) << subject.name;
    EXPECT_THROW(open(whole, end + 1, 0), InvalidArgument) << subject.name;
    EXPECT_THROW(open(whole, end - 1, 2), InvalidArgument) << subject.name;
    EXPECT_NO_THROW(open(whole, end, {})) << subject.name;
    EXPECT_NO_THROW(open(whole, end, 0)) << subject.name;
    for (const std::uint64_t size :
         {l.sealed_offset(2), l.sealed_offset(2) + 50, l.sealed_offset(1) - 1}) {
      const Buffer cut = first_bytes(whole, size);
      const std::uint64_t left = size - l.header_bytes;  // at least its plaintext
      SCOPED_TRACE(std::string(subject.name) + " " + std::to_string(size));
      EXPECT_THROW(open(cut, left + 1, {}), IntegrityError);
      EXPECT_THROW(open(cut, left + 1, 0), IntegrityError);
      EXPECT_THROW(open(cut, 0, left + 1), IntegrityError);
      try {
        const std::uint64_t at = l.extent_of(size).plain_bytes;
        EXPECT_THROW(open(cut, at, {}), IntegrityError);
        EXPECT_THROW(open(cut, at, 0), IntegrityError);
        EXPECT_THROW(open(cut, at + 1, 0), IntegrityError);
      } catch (const IntegrityError&) {  // a size that no message has
        EXPECT_EQ(l.last, SegmentLayout::Last::shorter);
      }
    }
  }
}

TEST(Ranges, BadSegment_SaysThatTheKeyFitsOnlyIfThatIsKnown) {
  for (const Subject& subject : subjects) {
    Sample sample = full_segments(subject, 3);
    sample.sealed[static_cast<std::size_t>(sample.layout.sealed_offset(1))] ^= 1;
    for (const std::uint64_t offset : {std::uint64_t{0}, sample.layout.plain_offset(1)}) {
      RandomSource source(sample.sealed);
      const auto error = caught<BadSegment>(
          [&] { open_message(source, sample.message, nullptr, range_of(offset)); });
      ASSERT_TRUE(error);
      EXPECT_EQ(error->segment(), 1U);
      EXPECT_EQ(error->key_fits(), sample.message.commits() || offset == 0) << subject.name;
      EXPECT_EQ(std::string(error->what()).find("wrong key") == std::string::npos,
                error->key_fits());
    }
  }
}

TEST(Salvage, WrongKey_IsRefused) {
  const Buffer sealed = Sample(subjects[2], 20000).sealed;
  const Message other = Message(
      open_tink_message(small_tink, Bytes(sealed).first(24), support::make_key(32, 8), context),
      {});
  std::vector<BadRange> ranges;
  OpenOptions options;
  options.salvage = &ranges;
  RandomSource source(sealed);
  RandomSink sink;
  EXPECT_THROW(open_message(source, other, &sink, options), IntegrityError);
}

// A message of a format that allows `most` segments.
Message few_segments(SegmentLayout::Last last, std::uint64_t segment_bytes, std::uint64_t most) {
  Message::Parts parts = new_tink_message(small_tink, key, {});
  parts.layout.first_bytes = parts.layout.segment_bytes = segment_bytes;
  parts.layout.max_segments = most;
  parts.layout.last = last;
  return {std::move(parts), {}};
}

// A message of `segments` segments, of which the last has `last_bytes` bytes, even if the format
// allows fewer segments.
Buffer seal_many(const Message& message, std::uint64_t segments, std::size_t last_bytes) {
  const SegmentKey& secret = message.parts().secret;
  Message::Parts parts{.header = Buffer(message.header().begin(), message.header().end()),
                       .layout = message.layout(),
                       .secret = {.key = SecretBytes(secret.key.span()),
                                  .base_nonce = secret.base_nonce,
                                  .nonces = secret.nonces}};
  parts.layout.max_segments = segments;
  const Message longer(std::move(parts));
  const Buffer plain = support::pattern(
      static_cast<std::size_t>(message.layout().plain_offset(segments - 1)) + last_bytes);
  return seal<RandomSource, RandomSink>(longer, plain, {});
}

// The limit may be in the middle of a chunk (of 4096 segments of 64 bytes) or at its end.
TEST(Messages, MoreSegmentsThanTheFormatAllows_AreNeitherOpenedNorSealed) {
  struct Case {
    std::uint64_t segment_bytes;
    std::uint64_t most;
  };
  for (const Case& format : {Case{64, 5}, Case{64, 4096}, Case{64, 4097}, Case{300000, 3}}) {
    for (const auto last : {SegmentLayout::Last::any, SegmentLayout::Last::shorter}) {
      const Message message = few_segments(last, format.segment_bytes, format.most);
      const SegmentLayout& l = message.layout();
      const auto allowed = static_cast<std::size_t>(l.plain_offset(format.most));
      for (const std::uint64_t more : {0U, 1U, 2U, 5000U}) {
        if (more * format.segment_bytes > 1000000) continue;
        const Buffer sealed = seal_many(message, format.most + more, 9);
        const Buffer plain =
            support::pattern(static_cast<std::size_t>(l.plain_offset(format.most + more - 1)) + 9);
        for (const bool file : {true, false}) {
          SCOPED_TRACE(std::to_string(format.most) + " + " + std::to_string(more) +
                       (file ? " in a file" : " in a pipe"));
          RandomSource random(sealed);
          const auto open = [&](OrderedSink& sink, const OpenOptions& options) {
            OrderedSource ordered = pipe_behind_header(message, sealed);
            return open_message(file ? static_cast<Source&>(random) : ordered, message, &sink,
                                options);
          };
          OrderedSink sink;
          if (more == 0) {
            EXPECT_NO_THROW(open(sink, {}));
            EXPECT_EQ(support::difference(sink.data, plain), "");
          } else {
            EXPECT_THROW(open(sink, {}), IntegrityError);
            EXPECT_LE(sink.data.size(), allowed);
            OrderedSource plain_pipe(plain);
            OrderedSink sealed_sink;
            EXPECT_THROW(seal_message(plain_pipe, message, sealed_sink), InvalidArgument);
            EXPECT_LE(sealed_sink.data.size(), l.sealed_offset(format.most));
          }

          std::vector<BadRange> bad;
          std::atomic<std::uint64_t> highest = 0;
          OpenOptions options;
          options.salvage = &bad;
          options.workers = 1;
          options.compute = [&](unsigned, std::span<SegmentCipher::Segment> segments) {
            for (const auto& segment : segments) {
              highest = std::max<std::uint64_t>(highest, segment.index);
            }
            message.cipher().crypt(Direction::decrypt, segments);
          };
          OrderedSink saved;
          const OpenResult result = open(saved, options);
          EXPECT_EQ(highest, format.most - 1);
          EXPECT_EQ(result.intact, format.most);
          EXPECT_EQ(result.truncated, more != 0);
          EXPECT_EQ(support::difference(saved.data, Bytes(plain).first(saved.data.size())), "");
          EXPECT_EQ(saved.data.size(), more == 0 ? plain.size() : allowed);
          EXPECT_EQ(pairs_of(bad), more == 0 ? Pairs{} : (Pairs{{allowed, 0}}));
        }
      }
    }
  }
}

TEST(Headers, WrongKeyContextOrHeader_IsRefused) {
  const Message message = subjects[0].make();
  const Buffer header(message.header().begin(), message.header().end());
  EXPECT_THROW(static_cast<void>(open_paraes_message(header, key, {})), WrongKey);
  EXPECT_THROW(static_cast<void>(open_paraes_message(header, Bytes(key).first(16), context)),
               WrongKey);
  for (std::size_t bit = 0; bit < 8 * header.size(); ++bit) {
    Buffer changed = header;
    changed[bit / 8] ^= static_cast<std::uint8_t>(1U << (bit % 8));
    EXPECT_THROW(static_cast<void>(open_paraes_message(changed, key, context)), Error) << bit;
  }
  for (std::size_t n = 0; n < header.size(); ++n) {
    EXPECT_THROW(static_cast<void>(open_paraes_message(Bytes(header).first(n), key, context)),
                 IntegrityError)
        << n;
  }
  EXPECT_THROW(static_cast<void>(new_c2sp_message(support::make_key(24), {})), InvalidArgument);
  EXPECT_THROW(static_cast<void>(new_c2sp_message(key, Buffer(max_c2sp_context_bytes + 1))),
               InvalidArgument);
  EXPECT_NO_THROW(static_cast<void>(new_c2sp_message(key, Buffer(max_c2sp_context_bytes))));
}

// As when a caller passes the whole message.
TEST(Headers, OfAnotherSize_AreRefusedWithTheSize) {
  for (const Subject& subject : subjects) {
    SCOPED_TRACE(subject.name);
    const Sample sample(subject, 100);
    const std::size_t bytes = sample.message.header().size();
    const auto open = [&](std::size_t n) { return subject.open(Bytes(sample.sealed).first(n)); };
    EXPECT_NO_THROW(static_cast<void>(open(bytes)));
    for (const std::size_t n : {bytes + 1, bytes + 4, sample.sealed.size()}) {
      EXPECT_EQ(message_of<IntegrityError>([&] { return open(n); }),
                "the header has " + std::to_string(bytes) + " bytes, not " + std::to_string(n));
    }
    for (const std::size_t n : {bytes - 1, std::size_t{33}, std::size_t{0}}) {
      if (n >= bytes) continue;
      EXPECT_TRUE(throws<IntegrityError>([&] { return open(n); }, "truncated"));
    }
  }
}

// Fields that the preface cannot encode, or that its reader would refuse.
TEST(Headers, PrefaceThatNoMessageHas_IsRefused) {
  for (const unsigned key_bits : {0U, 7U, 64U, 130U, 135U, 192U, 255U, 257U, 263U, 512U}) {
    EXPECT_THROW(static_cast<void>(Preface::for_passphrase(key_bits, 4)), InvalidArgument)
        << key_bits;
    EXPECT_THROW(static_cast<void>(Preface::for_recipients(key_bits, 100)), InvalidArgument)
        << key_bits;
  }
  const auto refuses = [](void (*change)(Preface&), std::size_t key_bytes = 32,
                          std::size_t wrap_bytes = 0) {
    Preface preface = Preface::for_passphrase(256, 4);
    EXPECT_NO_THROW(static_cast<void>(new_paraes_message(preface, key, {})));
    change(preface);
    EXPECT_THROW(static_cast<void>(new_paraes_message(preface, support::make_key(key_bytes), {},
                                                      Buffer(wrap_bytes))),
                 InvalidArgument);
  };
  refuses([](Preface& p) { p.key_bits = 192; }, 24);
  refuses([](Preface& p) { p.key_bits = 512; }, 64);
  refuses([](Preface& p) { p.scrypt_log2n = 0; });
  refuses([](Preface& p) { p.scrypt_log2n = 300; });
  refuses([](Preface& p) { p.kdf = Kdf{3}; });
  refuses([](Preface& p) { p.kdf = Kdf::none; });
  refuses([](Preface& p) { p.wrap_bytes = 100; }, 32, 100);
  const auto recipients = [](Preface& p) {
    p = Preface();
    p.kdf = Kdf::recipients;
    p.wrap_bytes = 104;
  };
  refuses(recipients, 32, 104);
}

TEST(Headers, PrefaceError_NamesTheWrongField) {
  const struct {
    std::size_t at;
    std::uint8_t value;
    const char* why;
  } cases[] = {{0, 'p', "does not begin"}, {8, 2, "format version 2"}, {9, 7, "kdf 7"},
               {9, 0, "no scrypt"},        {10, 0, "aead 0"},          {10, 3, "aead 3"},
               {11, 0, "N = 1"},           {12, 1, "reserved"},        {15, 0xff, "reserved"}};
  auto text = Preface::for_passphrase(256, 4).encode();
  text[31] = 9;  // of the salt
  EXPECT_NO_THROW(static_cast<void>(Preface::parse(text)));
  for (const auto& wrong : cases) {
    auto changed = text;
    changed[wrong.at] = wrong.value;
    EXPECT_TRUE(throws<IntegrityError>([&] { return Preface::parse(changed); }, wrong.why));
  }
}

}  // namespace
}  // namespace paraes
