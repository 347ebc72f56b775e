// Copies of parts, constant-time comparison, and the umask.

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
#include "src/core/system/process.hpp"
#include "tests/support/buffers.hpp"
#include "tests/support/systems.hpp"
#include "tests/support/temporary_folder.hpp"

namespace paraes {
namespace {

using support::Buffer;

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
