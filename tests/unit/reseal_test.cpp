// Messages whose plaintext is sealed again with another key, or whose segments get another header.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "paraes/error.hpp"
#include "paraes/io.hpp"
#include "paraes/messages.hpp"
#include "paraes/recipients.hpp"
#include "tests/support/age_file.hpp"
#include "tests/support/buffers.hpp"
#include "tests/support/memory_io.hpp"
#include "tests/support/message_of.hpp"
#include "tests/support/temporary_folder.hpp"

namespace paraes {
namespace {

using support::Buffer;
using support::caught;
using support::RandomSink;
using support::RandomSource;
using support::sealed_by;
using support::TemporaryFolder;

const Buffer key_128 = support::make_key(16, 1);
const Buffer key_256 = support::make_key(32, 2);
const Buffer run_key = support::make_key(32, 3);
const Buffer context = {1, 2, 3};
constexpr std::size_t segment = 16384;
constexpr std::size_t sealed_segment = segment + 16;

const std::size_t sizes[] = {0, 1, segment - 1, segment, segment + 1, 300000, 5U << 20U};

Message message_of_key(Bytes key) {
  return {new_paraes_message(Preface::for_key(key.size()), key, context), {}};
}

// The header of a message of this input key for recipients, in front of a c2sp header.
Buffer recipients_start(Bytes input_key, const std::string& stanzas) {
  const Buffer age_file = support::make_age_file(stanzas);
  const auto key_bits = static_cast<unsigned>(8 * input_key.size());
  const Preface preface = Preface::for_recipients(key_bits, age_file.size());
  const auto start = preface.encode();
  const Buffer wrap = make_wrap(preface, age_file, run_key, input_key);
  Buffer header(start.begin(), start.end());
  header.insert(header.end(), wrap.begin(), wrap.end());
  return header;
}

Message message_of_recipients(Bytes input_key) {
  const Buffer start = recipients_start(input_key, support::x25519_stanza);
  return {new_paraes_message(Preface::parse(Bytes(start).first(Preface::bytes)), input_key, context,
                             Bytes(start).subspan(Preface::bytes)),
          {}};
}

// The header of `message`, which has recipients, with another wrap.
Buffer another_header(const Message& message, Bytes input_key, const std::string& stanzas) {
  Buffer header = recipients_start(input_key, stanzas);
  const Bytes c2sp = message.header().last(c2sp_header_bytes);
  header.insert(header.end(), c2sp.begin(), c2sp.end());
  return header;
}

Buffer opened(const Buffer& sealed, Bytes input_key) {
  return support::opened_with(input_key, context, sealed);
}

// Calls test(options) with several numbers of threads, with and without overlap.
template <class Test>
void with_options(const Test& test) {
  for (const int threads : {1, 5}) {
    for (const bool overlap : {true, false}) {
      SCOPED_TRACE(std::to_string(threads) + (overlap ? " threads, overlap" : " threads"));
      TransferOptions options;
      options.threads = threads;
      options.overlap = overlap;
      test(options);
    }
  }
}

void expect_result(const TransferResult& result, std::size_t plain_bytes, const Buffer& sealed) {
  EXPECT_EQ(result.plain_bytes, plain_bytes);
  EXPECT_EQ(result.sealed_bytes, sealed.size());
  EXPECT_EQ(result.segments, plain_bytes / segment + 1);
}

// A way to give a message to another key or header.
struct Rewriting {
  const char* name;
  std::function<TransferResult(PositionalSource&, PositionalSink&, const TransferOptions&)> run;
};

// Ways from a message for recipients to another key, and to other recipients. Both check every
// segment.
class Reseal : public testing::Test {
 protected:
  const Message from_ = message_of_recipients(key_256);
  const Message to_ = message_of_key(key_128);
  const Buffer header_ = another_header(from_, key_256, support::ssh_stanza);
  const Rewriting rewritings_[2] = {{"reseal",
                                     [&](auto& source, auto& sink, const auto& options) {
                                       return reseal_message(source, from_, to_, sink, options);
                                     }},
                                    {"replace", [&](auto& source, auto& sink, const auto& options) {
                                       return verify_and_replace_header(source, from_, header_,
                                                                        sink, options);
                                     }}};
  const TemporaryFolder folder_;
};

TEST_F(Reseal, GivesTheBytesThatTheOtherMessageSeals) {
  const std::pair<Message, Buffer> messages[] = {{message_of_key(key_128), key_128},
                                                 {message_of_key(key_256), key_256},
                                                 {message_of_recipients(key_256), key_256}};
  for (const std::size_t bytes : sizes) {
    const Buffer plain = support::pattern(bytes);
    for (const auto& [from, from_key] : messages) {
      const Buffer sealed = sealed_by(from, plain);
      for (const auto& [to, to_key] : messages) {
        const Buffer expected = sealed_by(to, plain);
        SCOPED_TRACE(std::to_string(bytes) + " bytes, " + std::to_string(from.key_bits()) + " to " +
                     std::to_string(to.key_bits()) + " bits");
        with_options([&, &of = from, &other = to, &key = to_key](TransferOptions options) {
          std::uint64_t progress = 0;
          options.progress = [&](std::uint64_t done) {
            EXPECT_GE(done, progress);
            progress = done;
          };
          RandomSource source(sealed);
          RandomSink sink;
          const TransferResult result = reseal_message(source, of, other, sink, options);
          EXPECT_EQ(support::difference(sink.data, expected), "");
          EXPECT_EQ(support::difference(opened(sink.data, key), plain), "");
          expect_result(result, bytes, sink.data);
          EXPECT_EQ(progress, bytes);
        });
      }
    }
  }
}

const TinkParameters small_tink = {.segment_bytes = 4096, .derived_key_bytes = 16};

TEST_F(Reseal, TinkMessages_KeepTheirSegments) {
  const Message from(new_tink_message(small_tink, key_256, {}), {});
  const Message to(new_tink_message(small_tink, key_128, context), {});
  const std::uint64_t first = from.layout().first_bytes;
  for (const std::uint64_t bytes : {std::uint64_t{0}, first, first + 1, std::uint64_t{300000}}) {
    const Buffer plain = support::pattern(static_cast<std::size_t>(bytes));
    RandomSource source(sealed_by(from, plain));
    RandomSink sink;
    reseal_message(source, from, to, sink);
    EXPECT_EQ(support::difference(sink.data, sealed_by(to, plain)), "") << bytes;
  }
}

TEST_F(Reseal, MessagesWithOtherSegments_AreRefused) {
  const Message paraes = message_of_key(key_256);
  const Message tink(new_tink_message(small_tink, key_256, {}), {});
  const Message large_tink(new_tink_message({}, key_256, {}), {});
  // Segments of the size of those of paraes.
  const TinkParameters alike = {.segment_bytes = sealed_segment, .derived_key_bytes = 32};
  const Message tink_alike(new_tink_message(alike, key_256, {}), {});
  for (const auto& [from, to] : {std::pair(&paraes, &tink), std::pair(&tink, &paraes),
                                 std::pair(&tink, &large_tink), std::pair(&tink_alike, &paraes)}) {
    RandomSource source(sealed_by(*from, support::pattern(50000)));
    RandomSink sink;
    EXPECT_THROW(reseal_message(source, *from, *to, sink), InvalidArgument);
    EXPECT_TRUE(sink.data.empty());
  }
}

TEST_F(Reseal, DamagedSegment_IsNamedAndNothingIsClaimedWhole) {
  const std::size_t plain_bytes = 40 * segment + 100;
  const Buffer sealed = sealed_by(from_, support::pattern(plain_bytes));
  for (const Rewriting& rewriting : rewritings_) {
    for (const std::size_t index : {0U, 1U, 15U, 16U, 39U, 40U}) {
      SCOPED_TRACE(std::string(rewriting.name) + ", segment " + std::to_string(index));
      const auto begin = static_cast<std::size_t>(from_.layout().sealed_offset(index));
      const std::size_t end =
          index == 40 ? sealed.size()
                      : static_cast<std::size_t>(from_.layout().sealed_offset(index + 1));
      for (const std::size_t at : {begin, end - 17, end - 1}) {
        Buffer damaged = sealed;
        damaged[at] ^= 1U;
        with_options([&](TransferOptions options) {
          std::uint64_t progress = 0;
          options.progress = [&](std::uint64_t done) { progress = done; };
          RandomSource source(damaged);
          FileSink sink(folder_.path("out"), {});
          const auto error =
              caught<BadSegment>([&] { return rewriting.run(source, sink, options); });
          ASSERT_TRUE(error);
          EXPECT_EQ(error->segment(), index);
          EXPECT_EQ(error->plain_offset(), index * segment);
          EXPECT_TRUE(error->key_fits());
          EXPECT_LT(progress, plain_bytes);
        });
        EXPECT_FALSE(folder_.has("out"));
      }
    }
    // The first bad segment is named, and nothing of its chunk is written.
    Buffer damaged = sealed;
    damaged[static_cast<std::size_t>(from_.layout().sealed_offset(3))] ^= 1U;
    damaged[static_cast<std::size_t>(from_.layout().sealed_offset(7))] ^= 1U;
    RandomSource source(damaged);
    RandomSink sink;
    TransferOptions serial;
    serial.overlap = false;
    const auto error = caught<BadSegment>([&] { return rewriting.run(source, sink, serial); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->segment(), 3U);
    EXPECT_LE(sink.data.size(), header_.size());
  }
}

// The header of a Tink message does not commit to the key.
TEST_F(Reseal, FirstSegmentOfTink_MayHaveAnotherKeyInstead) {
  const Message from(new_tink_message(small_tink, key_256, {}), {});
  const Message to(new_tink_message(small_tink, key_128, {}), {});
  for (const std::uint64_t index : {0U, 1U}) {
    Buffer sealed = sealed_by(from, support::pattern(50000));
    sealed[static_cast<std::size_t>(from.layout().sealed_offset(index))] ^= 1U;
    RandomSource source(sealed);
    RandomSink sink;
    const auto error = caught<BadSegment>([&] { return reseal_message(source, from, to, sink); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->segment(), index);
    EXPECT_EQ(error->key_fits(), index != 0);
  }
}

TEST_F(Reseal, ShareAndComputeOfTheOptions_AreNotUsed) {
  const Buffer sealed = sealed_by(from_, support::pattern(3000000));
  for (const Rewriting& rewriting : rewritings_) {
    with_options([&](TransferOptions options) {
      RandomSource source(sealed);
      RandomSink expected;
      static_cast<void>(rewriting.run(source, expected, options));
      options.share = {.index = 1, .count = 3};
      options.workers = 2;
      options.compute = [&](unsigned, std::span<SegmentCipher::Segment> segments) {
        ADD_FAILURE() << "compute is called";
        for (SegmentCipher::Segment& one : segments) one.intact = true;
      };
      RandomSink sink;
      const TransferResult result = rewriting.run(source, sink, options);
      EXPECT_EQ(support::difference(sink.data, expected.data), "");
      expect_result(result, 3000000, sink.data);
    });
  }
}

TEST(ReplaceHeader, MessageOpensWithTheSameKeyBehindAnotherHeader) {
  const TemporaryFolder folder;
  std::vector<std::size_t> more(std::begin(sizes), std::end(sizes));
  more.push_back((17U << 20U) + 3);  // copied in several ranges
  for (const Buffer& key : {key_128, key_256}) {
    for (const std::size_t bytes : more) {
      if (bytes > 1000000 && key.size() == 16) continue;  // the same, and takes long
      SCOPED_TRACE(std::to_string(8 * key.size()) + " bits, " + std::to_string(bytes) + " bytes");
      const Message from = message_of_recipients(key);
      const Buffer plain = support::pattern(bytes);
      const Buffer sealed = sealed_by(from, plain);
      folder.write("in", sealed);
      // A longer header, and one as long as before.
      for (const std::string& stanzas :
           {support::x25519_stanza + support::ssh_stanza, support::x25519_stanza}) {
        const Buffer header = another_header(from, key, stanzas);
        Buffer expected = header;
        expected.insert(expected.end(),
                        sealed.begin() + static_cast<std::ptrdiff_t>(from.header().size()),
                        sealed.end());
        EXPECT_EQ(support::difference(opened(expected, key), plain), "");
        with_options([&](TransferOptions options) {
          std::uint64_t progress = ~0ULL;
          options.progress = [&](std::uint64_t done) { progress = done; };
          FileSource source = FileSource::open(folder.path("in"));
          FileSink::Options overwrite;
          overwrite.overwrite = true;
          {
            FileSink sink(folder.path("out"), overwrite);
            expect_result(replace_header(source, from.layout(), header, sink, options), bytes,
                          expected);
            sink.commit();
          }
          EXPECT_EQ(support::difference(folder.read("out"), expected), "");
          EXPECT_EQ(progress, bytes);
          progress = ~0ULL;
          RandomSink verified;
          expect_result(verify_and_replace_header(source, from, header, verified, options), bytes,
                        expected);
          EXPECT_EQ(support::difference(verified.data, expected), "");
          EXPECT_EQ(progress, bytes);
        });
      }
    }
  }
}

TEST(ReplaceHeader, WithoutVerification_CopiesDamagedSegments) {
  const TemporaryFolder folder;
  const Message from = message_of_recipients(key_256);
  Buffer sealed = sealed_by(from, support::pattern(100000));
  sealed.back() ^= 1U;
  folder.write("in", sealed);
  FileSource source = FileSource::open(folder.path("in"));
  FileSink sink(folder.path("out"), {});
  replace_header(source, from.layout(), from.header(), sink);
  sink.commit();
  EXPECT_EQ(support::difference(folder.read("out"), sealed), "");
  EXPECT_THROW(static_cast<void>(opened(folder.read("out"), key_256)), BadSegment);
}

TEST_F(Reseal, LengthThatNoMessageHas_IsRefusedBeforeAnythingIsWritten) {
  const Buffer sealed = sealed_by(from_, support::pattern(3 * segment));
  const std::size_t start = from_.header().size();
  for (const std::size_t bytes :
       {std::size_t{0}, start - 1, start, start + 15, start + sealed_segment,
        start + sealed_segment + 15, start + 3 * sealed_segment}) {
    SCOPED_TRACE(bytes);
    const Buffer part(sealed.begin(), sealed.begin() + static_cast<std::ptrdiff_t>(bytes));
    for (const Rewriting& rewriting : rewritings_) {
      RandomSource source(part);
      RandomSink sink;
      EXPECT_THROW(static_cast<void>(rewriting.run(source, sink, {})), IntegrityError);
      EXPECT_TRUE(sink.data.empty());
    }
    folder_.write("in", part);
    FileSource source = FileSource::open(folder_.path("in"));
    FileSink::Options named;
    named.named = true;
    FileSink sink(folder_.path("out"), named);
    EXPECT_THROW(replace_header(source, from_.layout(), header_, sink), IntegrityError);
    EXPECT_EQ(std::filesystem::file_size(sink.temporary()), 0U);
  }
}

TEST_F(Reseal, FileThatGrewOrShrank_IsAnIoError) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{300000}, std::size_t{20U << 20U}}) {
    const Buffer sealed = sealed_by(from_, support::pattern(bytes));
    for (const int change : {-1, 1, -static_cast<int>(segment), static_cast<int>(segment)}) {
      SCOPED_TRACE(std::to_string(bytes) + " bytes and " + std::to_string(change));
      const std::size_t now = sealed.size() + static_cast<std::size_t>(change);
      if (now > sealed.size() + segment) continue;  // it would have fewer than no bytes
      const auto expect_error = [&](const auto& run) {
        folder_.write("in", sealed);
        FileSource source = FileSource::open(folder_.path("in"));
        std::filesystem::resize_file(folder_.path("in"), now);
        FileSink sink(folder_.path("out"), {});
        EXPECT_THROW(run(source, sink), IoError);
      };
      for (const Rewriting& rewriting : rewritings_) {
        expect_error([&](FileSource& source, FileSink& sink) {
          static_cast<void>(rewriting.run(source, sink, {}));
        });
      }
      expect_error([&](FileSource& source, FileSink& sink) {
        replace_header(source, from_.layout(), header_, sink);
      });
      EXPECT_FALSE(folder_.has("out"));
    }
  }
}

TEST_F(Reseal, ErrorOfSourceOrSink_IsThrown) {
  const Buffer sealed = sealed_by(from_, support::pattern(5U << 20U));
  for (const Rewriting& rewriting : rewritings_) {
    for (const std::uint64_t at : {std::uint64_t{2000000}, sealed.size() - std::uint64_t{1000}}) {
      with_options([&](const TransferOptions& options) {
        RandomSource bad_source(sealed);
        bad_source.fail_at = at;
        RandomSink sink;
        EXPECT_THROW(static_cast<void>(rewriting.run(bad_source, sink, options)), IoError);
        RandomSource source(sealed);
        RandomSink bad_sink;
        bad_sink.fail_at = at;
        EXPECT_THROW(static_cast<void>(rewriting.run(source, bad_sink, options)), IoError);
      });
    }
  }
}

TEST(CopyAt, CopiesRangesFromAnyOffsetToAnyOffset) {
  const TemporaryFolder folder;
  const Buffer data = support::pattern((3U << 20U) + 5);
  folder.write("in", data);
  const FileSource source = FileSource::open(folder.path("in"));
  FileSink sink(folder.path("out"), {});
  Buffer expected(4U << 20U);
  const auto copy = [&](std::size_t offset, std::size_t begin, std::size_t bytes) {
    sink.copy_at(offset, source, begin, bytes);
    std::copy_n(data.begin() + static_cast<std::ptrdiff_t>(begin), bytes,
                expected.begin() + static_cast<std::ptrdiff_t>(offset));
  };
  copy(expected.size() - 5, data.size() - 5, 5);  // the end first
  copy(0, 4096, 8192);
  copy(8192, 1, 100000);
  copy(1000001, 12345, 2000003);
  copy(200000, data.size() - 1, 1);
  copy(100, 100, 0);
  copy(3500000, data.size(), 0);
  copy(8000, 70000, 1000);  // over what is there already
  sink.commit();
  EXPECT_EQ(support::difference(folder.read("out"), expected), "");
}

TEST(CopyAt, RangesLeaveThePositionsOfReadAndWriteAlone) {
  const TemporaryFolder folder;
  const Buffer data = support::pattern(1000);
  folder.write("in", data);
  FileSource source = FileSource::open(folder.path("in"));
  FileSink sink(folder.path("out"), {});
  Buffer first(100);
  EXPECT_EQ(source.read(first), 100U);
  sink.write(first);
  sink.copy_at(500, source, 500, 500);
  Buffer rest(400);
  EXPECT_EQ(source.read(rest), 400U);
  sink.write(rest);
  sink.commit();
  EXPECT_EQ(support::difference(folder.read("out"), data), "");
}

TEST(CopyAt, PastTheEndOfTheSource_IsAnIoError) {
  const TemporaryFolder folder;
  for (const std::size_t size : {0U, 100U, 3000000U}) {
    folder.write("in", support::pattern(size));
    const FileSource source = FileSource::open(folder.path("in"));
    for (const auto& [begin, bytes] :
         {std::pair(size, std::size_t{1}), std::pair(std::size_t{0}, size + 1),
          std::pair(size / 2, size), std::pair(size + 10, std::size_t{5})}) {
      if (begin + bytes <= size) continue;
      FileSink sink(folder.path("out"), {});
      EXPECT_THROW(sink.copy_at(0, source, begin, bytes), IoError) << size << ", " << begin;
    }
  }
  folder.write("in", support::pattern(3000000));
  const FileSource source = FileSource::open(folder.path("in"));
  std::filesystem::resize_file(folder.path("in"), 2000000);
  FileSink sink(folder.path("out"), {});
  EXPECT_NO_THROW(sink.copy_at(0, source, 0, 2000000));
  EXPECT_THROW(sink.copy_at(0, source, 0, 3000000), IoError);
}

// Where the system does not copy from one to the other, the file is read and written.
TEST(CopyAt, CopiesFromAnotherFileSystem) {
  const TemporaryFolder folder;
  std::string name = "/dev/shm/paraes-copy-XXXXXX";
  const Descriptor other(mkstemp(name.data()));
  if (other.get() < 0) GTEST_SKIP() << "there is no /dev/shm";
  const Buffer data = support::pattern((2U << 20U) + 77);
  ASSERT_EQ(pwrite(other.get(), data.data(), data.size(), 0), static_cast<ssize_t>(data.size()));
  const FileSource source = FileSource::open(name);
  unlink(name.c_str());
  FileSink sink(folder.path("out"), {});
  sink.copy_at(0, source, 0, 1000000);
  sink.copy_at(1000000, source, 1000000, data.size() - 1000000);
  EXPECT_THROW(sink.copy_at(data.size(), source, data.size() - 1, 2), IoError);
  sink.commit();
  const Buffer copied = folder.read("out");
  EXPECT_EQ(support::difference(Bytes(copied).first(data.size()), data), "");
}

}  // namespace
}  // namespace paraes
