// copy_stream: the bytes of every mode around the ends of chunks, what overlaps, and failures.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "paraes/error.hpp"
#include "paraes/streams.hpp"
#include "src/core/executor.hpp"
#include "src/core/system/memory.hpp"
#include "tests/support/buffers.hpp"
#include "tests/support/event_count.hpp"
#include "tests/support/memory_io.hpp"
#include "tests/support/message_of.hpp"

namespace paraes {
namespace {

using support::Buffer;
using support::EventCount;
using support::message_of;
using support::OrderedSink;
using support::OrderedSource;
using support::RandomSource;
using support::SilentSource;
using support::TricklingSource;

// The chunk of an input of unknown size.
constexpr std::size_t chunk = (1U << 20) - 4096;
constexpr std::size_t ahead = StreamTransform::lookahead;

std::unique_ptr<StreamTransform> open(BlockMode mode, bool padding, std::size_t unit_bytes,
                                      Direction direction, int threads) {
  const Buffer key = support::make_key(32);
  const Buffer iv = support::pattern(16, 7);
  return raw_stream(direction, {.mode = mode,
                                .key = key,
                                .iv = mode == BlockMode::ecb ? Bytes() : Bytes(iv),
                                .padding = padding,
                                .unit_bytes = unit_bytes,
                                .execution = {.kernel = {}, .threads = threads}});
}

std::unique_ptr<StreamTransform> ctr(int threads) {
  return open(BlockMode::ctr, true, 4096, Direction::encrypt, threads);
}

// The output of a message of one chunk.
Buffer at_once(StreamTransform& stream, Buffer data) {
  const std::size_t bytes = data.size();
  data.resize(bytes + StreamTransform::growth);
  data.resize(stream.finish(data.data(), bytes));
  return data;
}

// Passes update and finish on, and calls `on_update` with the number of the update before.
class Watched : public StreamTransform {
 public:
  Watched(std::unique_ptr<StreamTransform> stream, std::function<void(unsigned)> on_update)
      : stream_(std::move(stream)), on_update_(std::move(on_update)) {}

  [[nodiscard]] std::size_t granule() const noexcept override { return stream_->granule(); }
  void check_length(std::uint64_t bytes) const override { stream_->check_length(bytes); }
  void update(MutableBytes data) override {
    on_update_(updates_++);
    stream_->update(data);
  }
  std::size_t finish(std::uint8_t* data, std::size_t bytes) override {
    on_update_(updates_++);
    return stream_->finish(data, bytes);
  }
  [[nodiscard]] const Cipher& cipher() const noexcept override { return stream_->cipher(); }

 private:
  std::unique_ptr<StreamTransform> stream_;
  std::function<void(unsigned)> on_update_;
  unsigned updates_ = 0;
};

class CountingSource : public OrderedSource {
 public:
  using OrderedSource::OrderedSource;

  std::size_t read(MutableBytes buffer) override {
    const std::size_t n = OrderedSource::read(buffer);
    reads.add();
    return n;
  }

  EventCount reads;
};

// Calls `on_write` with the number of the write before.
class WatchedSink : public OrderedSink {
 public:
  explicit WatchedSink(std::function<void(unsigned)> on_write) : on_write_(std::move(on_write)) {}

  void write(Bytes bytes) override {
    on_write_(writes_++);
    OrderedSink::write(bytes);
  }

 private:
  std::function<void(unsigned)> on_write_;
  unsigned writes_ = 0;
};

// A sink that takes pages, as a pipe does, and copies them.
class PageSink : public OrderedSink {
 public:
  void write_pages(Bytes bytes) override {
    ++pages;
    write(bytes);
  }
  [[nodiscard]] bool takes_pages() const noexcept override { return true; }

  unsigned pages = 0;
};

struct Subject {
  BlockMode mode;
  bool padding;
  std::size_t unit_bytes;
};

// 96 KiB is no divisor of a chunk, so chunks are shorter; 2 MiB is more than a chunk.
constexpr Subject subjects[] = {{BlockMode::ctr, true, 4096},    {BlockMode::cbc, true, 4096},
                                {BlockMode::cbc, false, 4096},   {BlockMode::ecb, true, 4096},
                                {BlockMode::xts, true, 4096},    {BlockMode::xts, true, 96U << 10},
                                {BlockMode::xts, true, 2U << 20}};

template <class Input, class Output>
void compare(const Subject& subject, Direction direction, const Buffer& input, int threads,
             bool overlap) {
  const auto opened = [&](int n) {
    return open(subject.mode, subject.padding, subject.unit_bytes, direction, n);
  };
  const Buffer expected = at_once(*opened(1), input);
  Input source(input);
  Output sink;
  const auto stream = opened(threads);
  const CopyResult result = copy_stream(source, *stream, sink, {}, overlap);
  EXPECT_EQ(support::difference(sink.data, expected), "")
      << "mode " << static_cast<int>(subject.mode) << ", " << input.size() << " bytes, " << threads
      << " threads";
  EXPECT_EQ(result.bytes_in, input.size());
  EXPECT_EQ(result.bytes_out, expected.size());
}

TEST(CopyStream, IsTheOneChunkAnswerAroundTheEndsOfChunks) {
  std::set<std::size_t> sizes = {0, 1, 16, 17, 4096, (3U << 20) + 16};
  for (const std::size_t chunks :
       {chunk, 2 * chunk, std::size_t{10 * (96U << 10)}, std::size_t{2U << 20}}) {
    for (const std::size_t more : {std::size_t{0}, ahead - 1, ahead, ahead + 1, 2 * ahead}) {
      sizes.insert(chunks + more);
    }
    sizes.insert(chunks - 1);
    sizes.insert(chunks - ahead);
  }
  for (const Subject& subject : subjects) {
    for (const std::size_t bytes : sizes) {
      const bool whole = subject.mode == BlockMode::cbc || subject.mode == BlockMode::ecb;
      if (whole && !subject.padding && bytes % block_bytes != 0) continue;
      if (subject.mode == BlockMode::xts && bytes < block_bytes) continue;
      const Buffer plain = support::pattern(bytes);
      compare<OrderedSource, OrderedSink>(subject, Direction::encrypt, plain, 4, true);
      compare<RandomSource, PageSink>(subject, Direction::encrypt, plain, 4, true);
      compare<TricklingSource, PageSink>(subject, Direction::encrypt, plain, 4, true);
      const auto stream =
          open(subject.mode, subject.padding, subject.unit_bytes, Direction::encrypt, 1);
      const Buffer sealed = at_once(*stream, plain);
      compare<OrderedSource, PageSink>(subject, Direction::decrypt, sealed, 2, true);
      compare<RandomSource, OrderedSink>(subject, Direction::decrypt, sealed, 1, true);
      compare<OrderedSource, OrderedSink>(subject, Direction::decrypt, sealed, 2, false);
      compare<TricklingSource, OrderedSink>(subject, Direction::decrypt, sealed, 2, true);
    }
  }
}

// The rest after whole units joins the last one, which may become too large.
TEST(XtsStream, TooLargeLastUnit_IsRefusedBeforeAnythingIsProcessed) {
  constexpr std::size_t unit = max_xts_unit_bytes;
  const auto encryption = open(BlockMode::xts, true, unit, Direction::encrypt, 1);
  const auto decryption = open(BlockMode::xts, true, unit, Direction::decrypt, 1);
  for (const std::uint64_t units : {std::uint64_t{1}, std::uint64_t{3}, std::uint64_t{1} << 30}) {
    for (const std::uint64_t rest : {1U, 15U}) {
      const std::uint64_t bytes = units * unit + rest;
      EXPECT_NE(message_of<InvalidArgument>([&] {
                  encryption->check_length(bytes);
                }).find("smaller units"),
                std::string::npos)
          << bytes;
      EXPECT_NE(message_of<IntegrityError>([&] {
                  decryption->check_length(bytes);
                }).find(std::to_string(unit + rest)),
                std::string::npos)
          << bytes;
    }
    for (const std::uint64_t rest : {0U, 16U}) {
      EXPECT_NO_THROW(encryption->check_length(units * unit + rest));
      EXPECT_NO_THROW(decryption->check_length(units * unit + rest));
    }
  }
  const auto smaller = open(BlockMode::xts, true, unit - 15, Direction::decrypt, 1);
  EXPECT_NO_THROW(smaller->check_length(unit));
  Buffer data(unit + 5 + StreamTransform::growth);
  EXPECT_THROW(encryption->finish(data.data(), unit + 5), InvalidArgument);
  EXPECT_THROW(decryption->finish(data.data(), unit + 5), IntegrityError);
}

TEST(SaltedHeader, OfAnotherSize_IsRefusedWithTheSize) {
  Buffer start = {'S', 'a', 'l', 't', 'e', 'd', '_', '_'};
  const auto refusal = [&](std::size_t bytes) {
    start.resize(bytes);
    return message_of<IntegrityError>([&] { static_cast<void>(SaltedHeader::parse(start)); });
  };
  EXPECT_EQ(refusal(16), "");
  EXPECT_EQ(refusal(15), "the input ends within its header: it has 15 bytes of 16");
  EXPECT_EQ(refusal(17), "the header has 16 bytes, not 17");
}

TEST(CopyStream, ReadsFurtherWhileItWrites) {
  CountingSource source(support::pattern(8 * chunk));
  bool went_on = false;
  WatchedSink sink([&](unsigned write) {
    if (write == 0) went_on = source.reads.wait_for(3);
  });
  static_cast<void>(copy_stream(source, *ctr(2), sink));
  EXPECT_TRUE(went_on);
}

TEST(CopyStream, ReadsAndWritesWhileItComputes) {
  CountingSource source(support::pattern(8 * chunk));
  EventCount writes;
  bool went_on = false;
  WatchedSink sink([&](unsigned) { writes.add(); });
  Watched stream(ctr(2), [&](unsigned update) {
    if (update == 1) went_on = writes.wait_for(1) && source.reads.wait_for(3);
  });
  static_cast<void>(copy_stream(source, stream, sink));
  EXPECT_TRUE(went_on);
}

TEST(CopyStream, OneThreadOrOneChunk_AllIsDoneByTheCaller) {
  struct Run {
    std::size_t bytes;
    int threads;
    bool overlap;
  };
  for (const Run& run : {Run{4 * chunk, 1, true}, Run{chunk + ahead - 1, 4, true},
                         Run{chunk, 4, true}, Run{8 * chunk, 4, false}}) {
    OrderedSource source(support::pattern(run.bytes));
    std::mutex mutex;
    std::set<std::thread::id> threads;
    const auto note = [&](std::uint64_t) {
      const std::lock_guard lock(mutex);
      threads.insert(std::this_thread::get_id());
    };
    WatchedSink sink([&](unsigned n) { note(n); });
    Watched stream(ctr(run.threads), [&](unsigned n) { note(n); });
    static_cast<void>(copy_stream(source, stream, sink, note, run.overlap));
    EXPECT_EQ(threads, std::set<std::thread::id>{std::this_thread::get_id()}) << run.bytes;
  }
}

// Whether other threads help the caller to compute.
bool is_helped() {
  std::atomic<bool> others = false;
  const auto caller = std::this_thread::get_id();
  Executor(4).run(4, 1, [&](unsigned, std::uint64_t, std::uint64_t) {
    if (std::this_thread::get_id() != caller) others = true;
  });
  return others;
}

// Reads a chunk again and again until it is told to end, and waits once for a long time.
class PausingSource : public OrderedSource {
 public:
  PausingSource() : OrderedSource({}) {}

  std::size_t read(MutableBytes buffer) override {
    if (++reads_ == 3) std::this_thread::sleep_for(std::chrono::seconds(1));
    if (ended) return 0;
    std::fill(buffer.begin(), buffer.end(), std::uint8_t{0});
    return buffer.size();
  }

  std::atomic<bool> ended = false;

 private:
  unsigned reads_ = 0;
};

// Otherwise the pause of a pipe would keep a slow kernel on one thread for as long again.
TEST(CopyStream, ThreadsHelpSoonAfterAPauseOfTheInput) {
  constexpr unsigned most = 300;  // chunks, of 2 ms: less than the pause
  PausingSource source;
  bool helped = false;
  unsigned chunks = 0;
  Watched stream(ctr(4), [&](unsigned) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    ++chunks;
    if (chunks > 6) helped = helped || is_helped();
    if (helped || chunks == most) source.ended = true;
  });
  class Nothing : public OrderedSink {
   public:
    void write(Bytes) override {}
  } nothing;
  static_cast<void>(copy_stream(source, stream, nothing));
  EXPECT_TRUE(helped);
}

TEST(CopyStream, ProgressGrowsAndIsCalledByOneThreadAtATime) {
  for (const bool pages : {false, true}) {
    const Buffer data = support::pattern(20 * chunk + 20);
    OrderedSource source(data);
    OrderedSink plain_sink;
    PageSink page_sink;
    Sink& sink = pages ? page_sink : static_cast<Sink&>(plain_sink);
    std::atomic<int> inside = 0;
    std::vector<std::uint64_t> seen;
    const CopyResult result = copy_stream(source, *ctr(3), sink, [&](std::uint64_t bytes) {
      EXPECT_EQ(++inside, 1);
      seen.push_back(bytes);
      --inside;
    });
    EXPECT_EQ(seen.size(), 21U);
    EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
    EXPECT_EQ(seen.back(), data.size());
    EXPECT_GT(result.times.read, 0U);
    EXPECT_GT(result.times.kernel, 0U);
    EXPECT_GT(result.times.write, 0U);
  }
}

TEST(CopyStream, FailureInEachStage_IsTheFirstOneInTheOrderOfTheChunks) {
  const Buffer data = support::pattern(10 * chunk);
  constexpr unsigned none = std::numeric_limits<unsigned>::max();
  struct Failures {
    unsigned read;
    unsigned update;
    unsigned write;
    const char* text;
    unsigned written;  // chunks
  };
  for (const int threads : {1, 2}) {
    for (const Failures& at :
         {Failures{0, none, none, "cannot read it", 0},
          Failures{3, none, none, "cannot read it", 3}, Failures{none, 0, none, "update", 0},
          Failures{none, 4, none, "update", 4}, Failures{none, none, 0, "write", 0},
          Failures{none, none, 5, "write", 5}, Failures{3, none, 2, "write", 2},
          Failures{3, 2, 1, "write", 1}, Failures{3, 2, none, "update", 2},
          Failures{2, none, 2, "cannot read it", 2}, Failures{none, 9, none, "update", 9}}) {
      OrderedSource source(data);
      if (at.read != none) source.fail_at = at.read * chunk + chunk / 2;
      WatchedSink sink([&](unsigned n) {
        if (n == at.write) throw std::runtime_error("write");
      });
      Watched stream(ctr(threads), [&](unsigned n) {
        if (n == at.update) throw std::runtime_error("update");
      });
      EXPECT_EQ(
          message_of<std::exception>([&] { static_cast<void>(copy_stream(source, stream, sink)); }),
          at.text);
      EXPECT_EQ(sink.data.size(), at.written * chunk) << at.text;
    }
  }
}

TEST(CopyStream, FailureOfProgress_IsThrown) {
  OrderedSource source(support::pattern(10 * chunk));
  OrderedSink sink;
  const auto fail = [](std::uint64_t bytes) {
    if (bytes > 2 * chunk) throw std::runtime_error("enough");
  };
  EXPECT_EQ(message_of<std::exception>(
                [&] { static_cast<void>(copy_stream(source, *ctr(2), sink, fail)); }),
            "enough");
}

// The reader of the output may go away while nothing comes from the input.
TEST(CopyStream, FailedWrite_CancelsAReadThatWaits) {
  SilentSource source(support::pattern(chunk + ahead));
  WatchedSink sink([&](unsigned) {
    EXPECT_TRUE(source.waits.wait_for(1));
    throw std::runtime_error("nobody reads");
  });
  EXPECT_EQ(
      message_of<std::exception>([&] { static_cast<void>(copy_stream(source, *ctr(2), sink)); }),
      "nobody reads");
}

TEST(CopyStream, ChangedFile_IsAnErrorAndItsLastChunkIsNotWritten) {
  RandomSource source(support::pattern(4 * chunk));
  source.change(support::pattern(4 * chunk + 1));
  OrderedSink sink;
  EXPECT_THROW(static_cast<void>(copy_stream(source, *ctr(2), sink)), IoError);
  EXPECT_LT(sink.data.size(), 4 * chunk);
}

// Whether the system gives this process as many huge pages as the outputs of the next test need.
bool huge_pages_can_be_had() {
  constexpr std::size_t wanted = 10;
  std::vector<std::shared_ptr<std::uint8_t>> had;
  for (std::size_t i = 0; i < wanted; ++i) {
    had.push_back(system::map_huge_pages(system::huge_page));
    if (!had.back()) return false;
  }
  return true;
}

TEST(CopyStream, SinkThatTakesPages_GetsThemAfterTheFirstChunk) {
  bool had = true;
  for (const std::size_t chunks : {1U, 9U}) {
    const bool before = huge_pages_can_be_had();
    OrderedSource source(support::pattern(chunks * chunk + 100'000));
    PageSink sink;
    static_cast<void>(copy_stream(source, *ctr(2), sink));
    // The system may refuse huge pages at any moment; the other chunks are then written as usual.
    EXPECT_LE(sink.pages, chunks);
    if (sink.pages == chunks) continue;
    had = before && huge_pages_can_be_had();
    EXPECT_FALSE(had) << sink.pages << " of " << chunks;
    if (!had) break;
  }
  OrderedSource source(support::pattern(chunk - 1));  // which is seen to end in its chunk
  PageSink sink;
  static_cast<void>(copy_stream(source, *ctr(2), sink));
  EXPECT_EQ(sink.pages, 0U);
  if (!had) GTEST_SKIP() << "the system gives too few huge pages";
}

// Three of them, and what the pipe holds, would be too much memory.
TEST(CopyStream, LargeDataUnits_AreNotGivenAsPages) {
  for (const std::size_t unit : {4U << 20, 16U << 20}) {
    OrderedSource source(support::pattern(3 * unit));
    PageSink sink;
    const auto stream = open(BlockMode::xts, true, unit, Direction::encrypt, 2);
    static_cast<void>(copy_stream(source, *stream, sink));
    EXPECT_EQ(sink.pages, 0U) << unit;
  }
}

}  // namespace
}  // namespace paraes
