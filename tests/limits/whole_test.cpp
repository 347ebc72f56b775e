// All 2^32 segments of tink's longest message with the shortest segments, more than 100 GB, through
// pipes. The names begin with "Long", by which ctest selects the tests of the long tier.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <thread>

#include "paraes/error.hpp"
#include "paraes/io.hpp"
#include "paraes/messages.hpp"
#include "tests/limits/windows.hpp"
#include "tests/support/buffers.hpp"
#include "tests/support/message_of.hpp"

namespace paraes {
namespace {

using support::Buffer;

constexpr std::size_t segment_bytes = 25;  // of plaintext, but for segment 0, which has one
constexpr std::uint64_t all_segments = std::uint64_t{1} << 32;
constexpr std::uint64_t longest = 1 + (all_segments - 1) * segment_bytes;
constexpr std::uint8_t filler = 0xa7;

Message shortest_segments() {
  TinkParameters parameters;
  parameters.segment_bytes = segment_bytes + segment_tag_bytes;
  parameters.derived_key_bytes = 16;
  return {new_tink_message(parameters, support::make_key(16), {}), {}};
}

const Buffer filled(4096, filler);

// Counts bytes and checks that they are all the filler.
class FillerSink : public Sink {
 public:
  void write(Bytes data) override {
    right =
        right && std::all_of(data.begin(), data.end(), [](auto byte) { return byte == filler; });
    bytes += data.size();
  }
  void commit() override {}

  std::uint64_t bytes = 0;
  bool right = true;
};

// A pipe between two threads.
class Connection {
 public:
  Connection() {
    int ends[2] = {-1, -1};
    if (pipe(ends) != 0) throw std::runtime_error("pipe");
    source.emplace(Descriptor(ends[0]), "the pipe");
    sink.emplace(Descriptor(ends[1]), "the pipe");
  }

  std::optional<PipeSource> source;
  std::optional<PipeSink> sink;
};

// Calls write(sink) on another thread and read(source) on this one, and closes both ends in time.
template <class Write, class Read>
void connect(Write write, Read read) {
  Connection connection;
  std::exception_ptr failure;
  std::thread writer([&] {
    try {
      write(*connection.sink);
    } catch (...) {
      failure = std::current_exception();
    }
    connection.sink.reset();
  });
  try {
    read(*connection.source);
  } catch (...) {
    ADD_FAILURE() << "the reader failed";
  }
  connection.source.reset();
  writer.join();
  if (failure) std::rethrow_exception(failure);
}

TEST(LongTink, All2To32Segments_PassThroughPipes) {
  const Message message = shortest_segments();
  ASSERT_EQ(message.layout().segments_of(longest), all_segments);
  FillerSink plain;
  TransferResult sealed;
  OpenResult opened;
  connect(
      [&](Sink& sink) {
        limits::RepeatingSource source(filled, longest);
        sealed = seal_message(source, message, sink);
      },
      [&](Source& source) {
        Buffer header(message.header().size());
        ASSERT_EQ(source.read(header), header.size());
        opened = open_message(source, message, &plain);
      });
  EXPECT_EQ(sealed.segments, all_segments);
  EXPECT_EQ(sealed.sealed_bytes, message.layout().sealed_bytes(longest));
  EXPECT_EQ(opened.segments, all_segments);
  EXPECT_EQ(opened.sealed_bytes, sealed.sealed_bytes);
  EXPECT_EQ(plain.bytes, longest);
  EXPECT_TRUE(plain.right);
}

TEST(LongTink, OneByteMore_IsNotSealedFromAPipe) {
  const Message message = shortest_segments();
  limits::RepeatingSource source(filled, longest + 1);
  FillerSink sink;
  EXPECT_THROW(seal_message(source, message, sink), InvalidArgument);
  EXPECT_LE(sink.bytes, message.layout().sealed_offset(all_segments));
  EXPECT_GE(sink.bytes, message.layout().sealed_offset(all_segments - 100000));
}

// The segment 2^32 - 1 is not the last one here.
TEST(LongTink, OneSegmentMore_IsNotOpenedFromAPipe) {
  const Message message = shortest_segments();
  const SegmentLayout& l = message.layout();
  FillerSink plain;
  std::string said;
  const auto write_segments = [&](Sink& sink) {
    constexpr std::uint64_t batch = 1 << 16;
    const Buffer text(segment_bytes * batch, filler);
    Buffer sealed(l.segment_bytes * batch + segment_tag_bytes * batch);
    sink.write(message.header());
    for (std::uint64_t first = 0; first < all_segments; first += batch) {
      const auto in =
          static_cast<std::size_t>(l.plain_offset(first + batch) - l.plain_offset(first));
      const MutableBytes out = MutableBytes(sealed).first(in + segment_tag_bytes * batch);
      seal_segments(message, first, false, Bytes(text).first(in), out, 1);
      sink.write(out);
    }
    sink.write(Buffer(20, 0x11));
  };
  connect(write_segments, [&](Source& source) {
    Buffer header(message.header().size());
    ASSERT_EQ(source.read(header), header.size());
    said = support::message_of<IntegrityError>([&] { open_message(source, message, &plain); });
  });
  // The chunk with the last segments ends with the input, whose size is then known.
  EXPECT_NE(said.find("is more than this format allows"), std::string::npos) << said;
  EXPECT_LE(plain.bytes, l.plain_offset(all_segments));
  EXPECT_GE(plain.bytes, l.plain_offset(all_segments - 100000));
  EXPECT_TRUE(plain.right);
}

}  // namespace
}  // namespace paraes
