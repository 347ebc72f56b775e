// Powers in the field of GCM, counters, the S-box, XTS data units, constant-time comparison, and
// the umask.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>

#include "paraes/io.hpp"
#include "paraes/secret.hpp"
#include "src/core/bulk_copy.hpp"
#include "src/core/counter.hpp"
#include "src/core/gf128.hpp"
#include "src/core/sbox.hpp"
#include "src/core/system/process.hpp"
#include "src/modes/xts.hpp"
#include "tests/support/buffers.hpp"
#include "tests/support/hex.hpp"
#include "tests/support/spec.hpp"
#include "tests/support/systems.hpp"
#include "tests/support/temporary_folder.hpp"

namespace paraes {
namespace {

using support::Block;
using support::Buffer;

Block random_block(unsigned seed) {
  const auto bytes = support::make_key(16, seed);
  Block block;
  std::copy(bytes.begin(), bytes.end(), block.begin());
  return block;
}

TEST(BulkCopy, CopiesEverySizeFromAndToEveryPlace) {
  const Buffer from = support::pattern(700);
  for (std::size_t bytes = 0; bytes <= 400; ++bytes) {
    for (const std::size_t at : {0U, 1U, 15U, 16U, 63U, 64U, 65U}) {
      for (const std::size_t source : {0U, 5U, 16U}) {
        for (const std::size_t all : {bytes, std::size_t{1} << 20}) {
          Buffer to(600, 0xee);
          Buffer expected = to;
          copy_part(to.data() + at, from.data() + source, bytes, all);
          std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(source), bytes,
                      expected.begin() + static_cast<std::ptrdiff_t>(at));
          ASSERT_EQ(to, expected) << bytes << " bytes from " << source << " to " << at;
        }
      }
    }
  }
  copy_part(nullptr, nullptr, 0, std::size_t{1} << 20);
}

TEST(Gf128, Power_MatchesRepeatedMultiplication) {
  const Block h = random_block(99);
  Block expected{0x80};
  for (std::uint64_t n = 1; n <= 300; ++n) {
    expected = support::spec_multiply(expected, h);
    Block result;
    store_gf128(result.data(), power(load_gf128(h.data()), n));
    ASSERT_EQ(result, expected) << "power " << n;
  }
}

TEST(Counters, Add_CarriesWithinTheWidthOfTheCounter) {
  const auto sum = [](auto add, std::string_view hex, auto n) {
    Buffer counter = support::from_hex(hex);
    add(counter.data(), n);
    return support::to_hex(counter);
  };
  const struct {
    std::string_view from;
    std::uint64_t n;
    std::string_view to;
  } be128[] = {
      {"000000000000000000000000000000ff", 1, "00000000000000000000000000000100"},
      {"0000000000000000ffffffffffffffff", 1, "00000000000000010000000000000000"},
      {"ffffffffffffffffffffffffffffffff", 1, "00000000000000000000000000000000"},
      {"00000000000000ffffffffffffffffff", UINT64_MAX, "0000000000000100fffffffffffffffe"},
      {"0123456789abcdef0123456789abcdef", 0, "0123456789abcdef0123456789abcdef"},
  };
  for (const auto& c : be128) EXPECT_EQ(sum(add_be128, c.from, c.n), c.to);
  EXPECT_EQ(sum(add_le128, "ff000000000000000000000000000000", 1),
            "00010000000000000000000000000000");
  EXPECT_EQ(sum(add_le128, "ffffffffffffffff0000000000000000", 1),
            "00000000000000000100000000000000");
  EXPECT_EQ(sum(add_le128, "ffffffffffffffffffffffffffffffff", 2),
            "01000000000000000000000000000000");
  EXPECT_EQ(sum(add_be32, "000000000000000000000000ffffffff", 1U),
            "00000000000000000000000000000000");
  EXPECT_EQ(sum(add_be32, "0102030405060708090a0b0cfffffff0", 0x20U),
            "0102030405060708090a0b0c00000010");
}

TEST(Sbox, MatchesFips197AndItsInverse) {
  // FIPS 197 section 5.1.1: the corners of figure 7 and the example in the text.
  EXPECT_EQ(sbox[0x00], 0x63);
  EXPECT_EQ(sbox[0x0f], 0x76);
  EXPECT_EQ(sbox[0xf0], 0x8c);
  EXPECT_EQ(sbox[0xff], 0x16);
  EXPECT_EQ(sbox[0x53], 0xed);
  for (unsigned x = 0; x < 256; ++x) ASSERT_EQ(inverse_sbox[sbox[x]], x);
  EXPECT_EQ(gf_multiply(0x57, 0x83), 0xc1);  // section 4.2
  EXPECT_EQ(gf_multiply(0x57, 0x13), 0xfe);  // section 4.2.1
}

// The units add up to the message, and the last one has 16 bytes or more, but not as many as would
// make another unit.
TEST(XtsUnits, ShortRestJoinsTheLastUnit) {
  for (std::size_t unit = 16; unit <= 4096; unit += unit < 70 ? 1 : 671) {
    for (std::size_t bytes = 16; bytes <= 2 * unit + 300; ++bytes) {
      const XtsUnits units(bytes, unit);
      ASSERT_EQ((units.count - 1) * unit + units.last, bytes);
      ASSERT_GE(units.last, 16U);
      ASSERT_LT(units.last, unit + 16);
    }
  }
  for (const std::size_t bytes : {std::size_t{16}, std::size_t{1} << 20}) {
    EXPECT_EQ(XtsUnits(bytes, 0).count, 1U);
    EXPECT_EQ(XtsUnits(bytes, 0).last, bytes);
  }
}

TEST(ConstantTimeEqual, DetectsEveryFlippedBitAndOtherSizes) {
  const Buffer a = support::pattern(67);
  EXPECT_TRUE(constant_time_equal(a, Buffer(a)));
  EXPECT_TRUE(constant_time_equal({}, {}));
  EXPECT_FALSE(constant_time_equal(a, Bytes(a).first(66)));
  EXPECT_FALSE(constant_time_equal({}, a));
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      Buffer b(a);
      b[i] ^= static_cast<std::uint8_t>(1U << bit);
      ASSERT_FALSE(constant_time_equal(a, b)) << "byte " << i << ", bit " << bit;
    }
  }
}

TEST(SecureZero, ZeroesTheGivenBytesOnly) {
  Buffer data(100, 0x5a);
  secure_zero(data.data() + 3, 40);
  for (std::size_t i = 0; i < data.size(); ++i) {
    ASSERT_EQ(data[i], i >= 3 && i < 43 ? 0 : 0x5a) << "byte " << i;
  }
  secure_zero(nullptr, 0);
}

mode_t mode_of_new_file(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  struct stat status = {};
  EXPECT_EQ(fstat(file.get(), &status), 0) << path;
  EXPECT_EQ(unlink(path.c_str()), 0) << path;
  return status.st_mode & 0777;
}

TEST(CurrentUmask, Reading_LeavesTheModesOfFilesThatOtherThreadsCreate) {
  if (support::posix_only()) GTEST_SKIP() << "POSIX reads the umask by setting it";
  const support::TemporaryFolder folder;
  const mode_t before = umask(027);
  std::atomic<bool> done{false};
  std::thread reader([&] {
    while (!done) EXPECT_EQ(system::current_umask(), 027U);
  });
  for (int i = 0; i < 5000; ++i) EXPECT_EQ(mode_of_new_file(folder.path("new")), 0640U);
  done = true;
  reader.join();
  umask(before);
}

TEST(CurrentUmask, WithoutDescriptorsForProc_IsReadAndKept) {
  const mode_t before = umask(027);
  rlimit limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit none = {.rlim_cur = 0, .rlim_max = limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  EXPECT_EQ(system::current_umask(), 027U);
  EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(umask(before), 027U);
}

}  // namespace
}  // namespace paraes
