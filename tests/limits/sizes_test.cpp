// Sizes and offsets that sources and sinks can name but no file has.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "paraes/error.hpp"
#include "paraes/io.hpp"
#include "paraes/messages.hpp"
#include "paraes/streams.hpp"
#include "tests/support/buffers.hpp"
#include "tests/support/memory_io.hpp"

namespace paraes {
namespace {

using support::Buffer;
using support::difference;
using support::pattern;

constexpr std::uint64_t highest = UINT64_MAX;

// Claims to have more than it has, as a file that was cut after it was opened.
class ClaimingSource : public support::OrderedSource {
 public:
  ClaimingSource(Buffer data, std::uint64_t claim)
      : OrderedSource(std::move(data)), claim_(claim) {}
  [[nodiscard]] std::optional<std::uint64_t> remaining() const override { return claim_; }

 private:
  std::uint64_t claim_;
};

Buffer copied(Source& source, BlockMode mode, Direction direction, int threads, bool overlap) {
  const Buffer key = support::make_key(mode == BlockMode::xts ? 64 : 32);
  const Buffer iv = pattern(16, 8);
  const auto stream = raw_stream(direction, {.mode = mode,
                                             .key = key,
                                             .iv = mode == BlockMode::ecb ? Bytes() : Bytes(iv),
                                             .padding = false,
                                             .execution = {.kernel = {}, .threads = threads}});
  support::OrderedSink sink;
  copy_stream(source, *stream, sink, {}, overlap);
  return sink.data;
}

// The size only decides how large buffers are.
TEST(SourceSizes, StreamsWorkWhateverTheSourceClaims) {
  const Buffer plain = pattern(160);
  for (const BlockMode mode : {BlockMode::ecb, BlockMode::cbc, BlockMode::ctr, BlockMode::xts}) {
    for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
      for (const int threads : {1, 2}) {
        for (const bool overlap : {true, false}) {
          support::OrderedSource honest(plain);
          const Buffer expected = copied(honest, mode, direction, threads, overlap);
          for (const std::uint64_t claim : {std::uint64_t{1} << 32, std::uint64_t{1} << 63,
                                            highest - 131071, highest - 69999 + 15, highest - 65535,
                                            highest - 4111, highest - 4095, highest - 15}) {
            SCOPED_TRACE(std::to_string(claim) + " bytes, " + std::to_string(threads) + " threads" +
                         (overlap ? "" : ", no overlap"));
            ClaimingSource source(plain, claim / 16 * 16);
            EXPECT_EQ(difference(copied(source, mode, direction, threads, overlap), expected), "");
          }
        }
      }
    }
  }
}

// A file of 2^63 - 1 bytes, the most that off_t can say: a hole but for its ends. It is in memory,
// because file systems on disks do not allow this size.
class LargestFile : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = "/dev/shm/paraes-limits-" + std::to_string(getpid());
    const Descriptor file(open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (file.get() < 0) GTEST_SKIP() << "/dev/shm cannot be written";
    if (ftruncate(file.get(), INT64_MAX) != 0) {
      GTEST_SKIP() << "/dev/shm has no files of 2^63 - 1 bytes";
    }
  }
  ~LargestFile() override { unlink(path_.c_str()); }

  static constexpr std::uint64_t size = INT64_MAX;
  std::string path_;
};

TEST_F(LargestFile, IsReadAndWrittenUpToItsLastByte) {
  const Buffer data = pattern(5000);
  SharedSink sink(path_, "the file");
  sink.write_at(size - 5000, data);
  sink.commit();
  const FileSource source = FileSource::open(path_);
  EXPECT_EQ(source.size(), size);
  Buffer read(5000);
  EXPECT_NO_THROW(read_exactly(source, size - 5000, read));
  EXPECT_EQ(difference(read, data), "");
  EXPECT_EQ(source.read_at(size - 10, read), 10U);
  EXPECT_EQ(difference(Bytes(read).first(10), Bytes(data).last(10)), "");
  EXPECT_THROW(read_exactly(source, size - 10, read), IoError);
}

TEST_F(LargestFile, OffsetsThatTheSystemCannotSay_AreBehindTheEnd) {
  const Buffer data = pattern(64, 1);
  const FileSource source = FileSource::open(path_);
  Buffer buffer(64, 0x5a);
  SharedSink sink(path_, "the file");
  for (const std::uint64_t offset : {size + 1, highest - 10, highest}) {
    EXPECT_EQ(source.read_at(offset, buffer), 0U) << offset;
    EXPECT_EQ(buffer, Buffer(64, 0x5a));
    EXPECT_THROW(sink.write_at(offset, data), IoError) << offset;
  }
  // One that begins within the file and goes beyond its largest size.
  EXPECT_THROW(sink.write_at(size - 10, data), IoError);
  // Nothing was written where such an offset would wrap to.
  Buffer start(4096);
  EXPECT_NO_THROW(read_exactly(source, 0, start));
  EXPECT_EQ(start, Buffer(4096));
}

}  // namespace
}  // namespace paraes
