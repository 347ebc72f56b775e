// Segments in the pinned memory of a GPU's stream: files are read into it and written from it.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "paraes/devices.hpp"
#include "paraes/error.hpp"
#include "paraes/messages.hpp"
#include "paraes/segments.hpp"
#include "src/gpu/pool.hpp"
#include "tests/gpu/expect_has.hpp"
#include "tests/support/buffers.hpp"
#include "tests/support/message_of.hpp"
#include "tests/support/test_device.hpp"
#include "tests/support/whole_message.hpp"

namespace paraes {
namespace {

using support::Buffer;
using support::message_of;

constexpr std::size_t segment = std::size_t{64} << 10;

Execution execution(unsigned streams = 0) {
  Execution how;
  how.device = support::test_device();
  how.kernel = "reference";
  how.gpu_tuning.streams = streams;
  how.gpu_tuning.launch_bytes = 8 * segment;
  return how;
}

// The pinned memory of the streams that execution() uses.
bool is_pinned(const std::uint8_t* data, std::size_t bytes) {
  gpu::PoolOptions options;
  gpu::apply(execution().gpu_tuning, options);
  const auto pool = gpu::open_pool(gpu::parse_device(support::test_device()).value(),
                                   gpu::find_gpu_kernel("reference"), options);
  for (const auto& context : pool->contexts()) {
    for (const auto& stream : context->streams()) {
      for (const std::uint8_t* memory : {stream->input(), stream->output()}) {
        if (data >= memory && data + bytes <= memory + stream->capacity()) return true;
      }
    }
  }
  return false;
}

// Count the texts that they read or write in pinned memory.
class WatchedSource final : public support::RandomSource {
 public:
  using support::RandomSource::RandomSource;
  [[nodiscard]] std::size_t read_at(std::uint64_t offset, MutableBytes buffer) const override {
    if (is_pinned(buffer.data(), buffer.size())) pinned += buffer.size();
    return RandomSource::read_at(offset, buffer);
  }
  mutable std::atomic<std::size_t> pinned = 0;
};
class WatchedSink final : public support::RandomSink {
 public:
  void write_at(std::uint64_t offset, Bytes bytes) override {
    if (is_pinned(bytes.data(), bytes.size())) pinned += bytes.size();
    RandomSink::write_at(offset, bytes);
  }
  std::atomic<std::size_t> pinned = 0;
};

class Staging : public testing::Test {
 protected:
  void SetUp() override { PARAES_NEEDS_DEVICE(support::test_device()); }

  const Buffer key_ = support::make_key(32, 11);
};

TEST_F(Staging, FilesAreReadIntoAndWrittenFromPinnedMemory) {
  for (const std::size_t bytes : {std::size_t{1}, 15 * segment, 33 * segment + 13}) {
    SCOPED_TRACE(bytes);
    const Buffer plain = support::pattern(bytes);
    const Message sealing(new_c2sp_message(key_, {}), execution());
    WatchedSource source(plain);
    WatchedSink sink;
    seal_message(source, sealing, sink);
    EXPECT_EQ(source.pinned, bytes);
    EXPECT_EQ(sink.pinned, sink.data.size() - c2sp_header_bytes);

    // The CPU and the GPU open what the GPU has sealed.
    const Bytes header = Bytes(sink.data).first(c2sp_header_bytes);
    const Message on_cpu(open_c2sp_message(header, key_, {}), {});
    EXPECT_EQ(support::difference(support::opened(on_cpu, sink.data), plain), "");
    const Message opening(open_c2sp_message(header, key_, {}), execution());
    WatchedSource input(sink.data);
    WatchedSink output;
    open_message(input, opening, output);
    EXPECT_EQ(support::difference(output.data, plain), "");
    EXPECT_EQ(input.pinned, sink.data.size() - c2sp_header_bytes);
    EXPECT_EQ(output.pinned, bytes);
    WatchedSource again(sink.data);
    open_message(again, opening, nullptr);  // as verify does
    EXPECT_EQ(again.pinned, sink.data.size() - c2sp_header_bytes);
  }
}

TEST_F(Staging, RangesBeginAndEndAnywhere) {
  const Buffer plain = support::pattern(20 * segment + 5);
  const Message sealing(new_c2sp_message(key_, {}), execution());
  const Buffer sealed = support::sealed(sealing, plain);
  const Bytes header = Bytes(sealed).first(c2sp_header_bytes);
  const Message opening(open_c2sp_message(header, key_, {}), execution());
  for (const std::uint64_t offset : {std::uint64_t{1}, 3 * std::uint64_t{segment} + 4097}) {
    OpenOptions options;
    options.offset = offset;
    options.length = 11 * segment + 7;
    support::RandomSource source(sealed);
    support::RandomSink part;
    open_message(source, opening, part, options);
    EXPECT_EQ(support::difference(part.data, Bytes(plain).subspan(offset, *options.length)), "");
  }
}

TEST_F(Staging, PipesAndTinkKeepMemoryOfTheirOwn) {
  const Buffer plain = support::pattern(9 * segment);
  const Message message(new_c2sp_message(key_, {}), execution());
  WatchedSource source(plain);
  support::OrderedSink pipe;
  seal_message(source, message, pipe);
  EXPECT_EQ(source.pinned, 0U);

  // Its first segment is shorter than the others, and not by whole blocks.
  const Message tink(new_tink_message({.segment_bytes = 4096}, key_, {}), execution());
  WatchedSource other(plain);
  WatchedSink sink;
  seal_message(other, tink, sink);
  EXPECT_EQ(other.pinned + sink.pinned, 0U);
}

// Fails only when other workers wait for streams.
class SlowlyFailingSource final : public support::RandomSource {
 public:
  using support::RandomSource::RandomSource;
  [[nodiscard]] std::size_t read_at(std::uint64_t offset, MutableBytes buffer) const override {
    if (offset > 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return RandomSource::read_at(offset, buffer);
  }
};

// A worker that fails gives its stream back: with few streams, the others would wait for ever.
TEST_F(Staging, FailuresFreeTheStreams) {
  const Buffer plain = support::pattern(60 * segment);
  const Message message(new_c2sp_message(key_, {}), execution(2));
  TransferOptions options;
  options.threads = 8;
  for (int round = 0; round < 3; ++round) {
    SlowlyFailingSource source(plain);
    source.fail_at = 10 * segment;
    support::RandomSink sink;
    EXPECT_THROW(seal_message(source, message, sink, options), IoError);
    support::RandomSource whole(plain);
    support::RandomSink full;
    full.fail_at = 20 * segment;
    EXPECT_THROW(seal_message(whole, message, full, options), IoError);
  }
  Buffer sealed = support::sealed(message, plain);
  EXPECT_EQ(sealed.size(), message.layout().sealed_bytes(plain.size()));
  sealed[c2sp_header_bytes + 40 * segment] ^= 1;
  const Message opening(open_c2sp_message(Bytes(sealed).first(c2sp_header_bytes), key_, {}),
                        execution(2));
  EXPECT_THROW(static_cast<void>(support::opened(opening, sealed)), BadSegment);
}

// ---- The memory itself

class SegmentsInPlace : public Staging {
 protected:
  const SegmentCipher cpu_{key_, Buffer(12, 1), SegmentCipher::Nonces::counted, {}};

  // Seals and opens texts of these sizes, which begin at byte `begin` of the memory.
  void expect_as_on_cpu(const SegmentCipher& cipher, const std::vector<std::size_t>& sizes,
                        std::size_t begin) {
    const auto staging = cipher.stage(sizes.size(), segment);
    ASSERT_NE(staging, nullptr);
    std::vector<SegmentCipher::Segment> segments;
    std::vector<Buffer> plain;
    std::vector<Buffer> sealed;
    std::size_t from = begin;
    std::size_t to = begin + 16;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      plain.push_back(support::pattern(sizes[i], static_cast<unsigned>(i)));
      sealed.emplace_back(sizes[i] + segment_tag_bytes);
      std::copy(plain[i].begin(), plain[i].end(), staging->in().begin() + from);
      segments.push_back({.index = i,
                          .in = staging->in().subspan(from, sizes[i]),
                          .out = staging->out().subspan(to, sealed[i].size())});
      from += (sizes[i] + 15) / 16 * 16;
      to += (sizes[i] + 15) / 16 * 16 + 16;
      SegmentCipher::Segment own{.index = i, .in = plain[i], .out = sealed[i]};
      cpu_.crypt(Direction::encrypt, {&own, 1});
    }
    staging->crypt(Direction::encrypt, segments);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      EXPECT_TRUE(segments[i].done);
      EXPECT_EQ(support::difference(segments[i].out, sealed[i]), "") << "segment " << i;
    }

    // Open them again, with every third one damaged.
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const std::size_t place = segments[i].out.data() - staging->out().data();
      std::copy(sealed[i].begin(), sealed[i].end(), staging->in().begin() + place);
      if (i % 3 == 1) staging->in()[place + sizes[i] / 2] ^= 0x10;
      segments[i].in = staging->in().subspan(place, sealed[i].size());
      segments[i].out = staging->out().subspan(place, sizes[i]);
    }
    staging->crypt(Direction::decrypt, segments);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      EXPECT_EQ(segments[i].intact, i % 3 != 1) << i;
      const Buffer expected = i % 3 == 1 ? Buffer(sizes[i]) : plain[i];
      EXPECT_EQ(support::difference(segments[i].out, expected), "") << "segment " << i;
    }
  }
};

TEST_F(SegmentsInPlace, OfEverySizeAreThoseOfTheCpu) {
  const SegmentCipher cipher(key_, Buffer(12, 1), SegmentCipher::Nonces::counted, execution());
  std::vector<std::size_t> sizes;
  for (std::size_t bytes = 0; bytes < 70; ++bytes) sizes.push_back(bytes);
  for (const std::size_t begin : {0U, 1U, 88U, 4000U}) {
    const std::vector<std::size_t> few(sizes.begin(), sizes.begin() + 7);
    expect_as_on_cpu(cipher, few, begin);
    for (std::size_t i = 0; i < sizes.size(); i += 7) {
      expect_as_on_cpu(cipher, {segment, 16, sizes[i]}, begin);
    }
  }
  expect_as_on_cpu(cipher, {segment, segment, segment, segment, segment, segment, segment, segment},
                   4080);
}

TEST_F(SegmentsInPlace, ThatTheMemoryDoesNotHaveAreRefused) {
  const SegmentCipher cipher(key_, Buffer(12, 1), SegmentCipher::Nonces::counted, execution());
  EXPECT_EQ(cpu_.stage(1, segment), nullptr) << "the CPU needs none";
  EXPECT_EQ(cipher.stage(9, segment), nullptr) << "more than a launch takes";
  EXPECT_EQ(cipher.stage(1, 16 * segment), nullptr) << "longer than the segments of a launch";
  Execution serial = execution();
  serial.overlap = false;
  EXPECT_EQ(SegmentCipher(key_, Buffer(12), SegmentCipher::Nonces::counted, serial).stage(1, 16),
            nullptr);

  const auto staging = cipher.stage(2, 64);
  ASSERT_NE(staging, nullptr);
  const auto refusal = [&](Bytes in, MutableBytes out) {
    std::vector<SegmentCipher::Segment> segments{
        {.in = staging->in().first(32), .out = staging->out().first(48)},
        {.index = 1, .in = in, .out = out}};
    return message_of<InvalidArgument>([&] { staging->crypt(Direction::encrypt, segments); });
  };
  Buffer elsewhere(48);
  const MutableBytes in = staging->in();
  const MutableBytes out = staging->out();
  EXPECT_EQ(refusal(in.subspan(32, 32), out.subspan(48, 48)), "");
  EXPECT_HAS(refusal(elsewhere, out.subspan(48, 64)), "is not in the memory");
  EXPECT_HAS(refusal(in.subspan(32, 32), elsewhere), "is not in the memory");
  // The end has room as well.
  const auto from = static_cast<std::size_t>(in.size() - 9) / 16 * 16;
  const auto to = static_cast<std::size_t>(out.size() - 25) / 16 * 16;
  EXPECT_EQ(refusal(in.subspan(from, 9), out.subspan(to, 25)), "");
  EXPECT_HAS(refusal(in.subspan(36, 32), out.subspan(48, 48)), "multiple of 16 bytes");
  EXPECT_HAS(refusal(in.subspan(32, 32), out.subspan(52, 48)), "multiple of 16 bytes");
  EXPECT_HAS(refusal(in.subspan(32, 32), out.subspan(48, 32)), "16 bytes longer");
  std::vector<SegmentCipher::Segment> three(
      3, {.in = in.first(16), .out = out.first(16 + segment_tag_bytes)});
  EXPECT_HAS(message_of<InvalidArgument>([&] { staging->crypt(Direction::encrypt, three); }),
             "with 2 segments, not 3");
}

}  // namespace
}  // namespace paraes
