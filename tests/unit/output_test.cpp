// --update: which outputs are up to date.

#include "cli/files/output.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdint>

namespace paraes::cli {
namespace {

constexpr std::int64_t second = 1'000'000'000;
constexpr std::int64_t modified = 1'700'000'001 * second + 123'456'789;
// No multiple of any step, as on file systems that store nanoseconds.
constexpr std::int64_t changed = 1'800'000'001 * second + 987'654'321;

timespec to_timespec(std::int64_t nanoseconds) {
  return {.tv_sec = nanoseconds / second, .tv_nsec = nanoseconds % second};
}

// An inode number tells two files apart.
struct stat file(ino_t inode, std::int64_t modification, std::int64_t change) {
  struct stat status = {};
  status.st_mode = S_IFREG | 0600;
  status.st_ino = inode;
  status.st_mtim = to_timespec(modification);
  status.st_ctim = to_timespec(change);
  return status;
}

bool left_out(std::int64_t output, std::int64_t change = changed) {
  return is_up_to_date(file(1, modified, changed), file(2, output, change));
}

TEST(Update, OutputThatIsNotOlder_IsUpToDate) {
  EXPECT_TRUE(left_out(modified));
  EXPECT_TRUE(left_out(modified + 1));
  EXPECT_TRUE(left_out(modified + second));
  EXPECT_FALSE(left_out(modified - 1));
  EXPECT_FALSE(left_out(0));
}

TEST(Update, TimeThatTheFileSystemRoundedDown_IsNotOlder) {
  for (const std::int64_t step :
       {std::int64_t{100}, std::int64_t{1000}, second / 100, second, 2 * second}) {
    const std::int64_t rounded = modified / step * step;
    const std::int64_t rounded_change = changed / step * step;
    EXPECT_TRUE(left_out(rounded, rounded_change)) << step;
    EXPECT_FALSE(left_out(rounded - step, rounded_change)) << step;
    // A round time on a file system that stores finer ones was set by somebody.
    EXPECT_FALSE(left_out(rounded, rounded_change + 1)) << step;
  }
}

TEST(Update, OtherKindsOfFilesAndTheInputItself_AreNeverUpToDate) {
  for (const mode_t type : {S_IFDIR, S_IFLNK, S_IFIFO, S_IFCHR}) {
    struct stat output = file(2, modified, changed);
    output.st_mode = type | 0600;
    EXPECT_FALSE(is_up_to_date(file(1, modified, changed), output));
  }
  const struct stat same = file(1, modified, changed);
  EXPECT_FALSE(is_up_to_date(same, same));
}

}  // namespace
}  // namespace paraes::cli
