// Samples of inputs and tokens in outputs, by which ranks find out whether they have the same
// files.

#include "mpi/same_files.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "paraes/error.hpp"
#include "tests/support/memory_io.hpp"
#include "tests/support/temporary_folder.hpp"

namespace paraes::mpi {
namespace {

namespace fs = std::filesystem;
using support::Buffer;
using support::RandomSource;

constexpr std::size_t all_sampled = std::size_t{256} << 10;

TEST(Samples, EqualFiles_HaveThem) {
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{4096}, std::size_t{4097}, all_sampled,
        all_sampled + 1, 8 * all_sampled}) {
    const RandomSource one(support::pattern(size));
    const RandomSource two(support::pattern(size));
    EXPECT_TRUE(has_samples(two, take_samples(one))) << size;
  }
}

TEST(Samples, AnyByteOfASmallFile_IsCompared) {
  for (const std::size_t size :
       {std::size_t{1}, std::size_t{4096}, std::size_t{5000}, all_sampled}) {
    const Samples samples = take_samples(RandomSource(support::pattern(size)));
    for (std::size_t at = 0; at < size; at += at + 1 < 200 ? 1 : 997) {
      Buffer other = support::pattern(size);
      other[at] ^= 1U;
      EXPECT_FALSE(has_samples(RandomSource(other), samples)) << at << " of " << size;
    }
  }
}

TEST(Samples, FirstAndLastBlock_AreAlwaysCompared) {
  const std::size_t size = 8 * all_sampled + 5;
  const Samples samples = take_samples(RandomSource(support::pattern(size)));
  for (const std::size_t at : {std::size_t{0}, std::size_t{4095}, size - 4096, size - 1}) {
    Buffer other = support::pattern(size);
    other[at] ^= 1U;
    EXPECT_FALSE(has_samples(RandomSource(other), samples)) << at;
  }
}

TEST(Samples, StretchOfATwentiethOfTheFile_IsAlwaysCompared) {
  const std::size_t size = 16 * all_sampled;
  for (std::size_t part = 0; part < 20; ++part) {
    const Samples samples = take_samples(RandomSource(support::pattern(size)));
    Buffer other = support::pattern(size);
    for (std::size_t i = size / 20 * part; i < size / 20 * (part + 1); ++i) other[i] ^= 0xffU;
    EXPECT_FALSE(has_samples(RandomSource(other), samples)) << part;
  }
}

TEST(Samples, Reads_AreFewAndInTheFile) {
  const std::uint64_t size = 64 * all_sampled;
  const RandomSource source{Buffer(size)};
  static_cast<void>(take_samples(source));
  EXPECT_EQ(source.ranges().size(), 64U);
  for (const auto& [begin, end] : source.ranges()) {
    EXPECT_EQ(end - begin, 4096U);
    EXPECT_LE(end, size);
  }
}

TEST(Samples, OffsetsAndDigests_AreNewEachTime) {
  const RandomSource large(Buffer(8 * all_sampled));
  const Samples one = take_samples(large);
  const Samples two = take_samples(large);
  EXPECT_NE(one.offsets, two.offsets);
  EXPECT_TRUE(std::is_sorted(one.offsets.begin(), one.offsets.end()));
  // Otherwise equal digests would tell that two small files are equal.
  const RandomSource small(Buffer(100));
  EXPECT_NE(take_samples(small).digest, take_samples(small).digest);
}

TEST(Samples, FileThatShrankAndOffsetBehindTheEnd_AreErrors) {
  RandomSource source(Buffer(8 * all_sampled));
  Samples samples = take_samples(source);
  source.change(Buffer(all_sampled));
  EXPECT_THROW(static_cast<void>(has_samples(source, samples)), IoError);
  EXPECT_THROW(static_cast<void>(take_samples(source)), IoError);
  samples.offsets.back() = source.size();
  EXPECT_THROW(static_cast<void>(has_samples(RandomSource(Buffer(source.size())), samples)), Error);
}

class SharedOutputTest : public testing::Test {
 protected:
  SharedOutputTest() {
    FileSink::Options options;
    options.named = true;
    sink_.emplace(folder_.path("out"), options);
  }

  [[nodiscard]] SharedOutput output(std::uint64_t max_bytes, int ranks) const {
    return {*sink_, sink_->temporary(), "out", max_bytes, ranks};
  }

  // Does what another rank would do.
  static void join(const std::string& path, const Tokens& tokens, int rank) {
    SharedSink(path, "out").write_at(tokens.offset(rank), tokens.token(rank));
  }

  const support::TemporaryFolder folder_;
  std::optional<FileSink> sink_;
};

TEST_F(SharedOutputTest, TokensOfAllRanks_AreFoundAndRemoved) {
  const SharedOutput shared = output(100000, 4);
  EXPECT_EQ(shared.id(), sink_->id());
  for (const int rank : {1, 3, 2}) {
    EXPECT_NE(shared.find_missing(), 0);
    join(sink_->temporary(), shared.tokens(), rank);
  }
  EXPECT_EQ(shared.find_missing(), 0);
  const std::string text = "the whole output";
  sink_->write({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  shared.finish(text.size());
  sink_->commit();
  EXPECT_EQ(folder_.text("out"), text);
}

TEST_F(SharedOutputTest, Tokens_LieBehindTheOutputAndApart) {
  for (const std::uint64_t bytes : {0U, 1U, 65536U, 65537U}) {
    const SharedOutput shared = output(bytes, 3);
    EXPECT_GE(shared.tokens().offset(1), bytes);
    EXPECT_GE(shared.tokens().offset(2) - shared.tokens().offset(1), 65536U);
    EXPECT_GE(fs::file_size(sink_->temporary()), shared.tokens().offset(2) + 32);
  }
  EXPECT_NE(output(0, 2).tokens().seed, output(0, 2).tokens().seed);
}

TEST_F(SharedOutputTest, TokenOfAnotherRankOrRun_IsNotAccepted) {
  const SharedOutput shared = output(0, 3);
  SharedSink sink(sink_->temporary(), "out");
  sink.write_at(shared.tokens().offset(1), shared.tokens().token(1));
  sink.write_at(shared.tokens().offset(2), shared.tokens().token(1));
  EXPECT_EQ(shared.find_missing(), 2);
  const SharedOutput next = output(0, 3);
  EXPECT_EQ(next.find_missing(), 1);
}

TEST_F(SharedOutputTest, CopyOfTheOutput_IsRefused) {
  const SharedOutput shared = output(0, 2);
  // The other rank writes to a copy.
  const std::string copy = folder_.path("copy");
  fs::copy_file(sink_->temporary(), copy);
  join(copy, shared.tokens(), 1);
  EXPECT_EQ(shared.find_missing(), 1);
  // The output is replaced by the copy.
  fs::rename(copy, sink_->temporary());
  EXPECT_THROW(static_cast<void>(shared.find_missing()), IoError);
  EXPECT_THROW(shared.finish(0), IoError);
}

}  // namespace
}  // namespace paraes::mpi
