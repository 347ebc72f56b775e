// --update: which outputs are up to date.

#include "cli/files/update.hpp"

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

// Without a look at the file system of the output. In raw, the ciphertext is as long as the
// plaintext.
bool leaves_out(const struct stat& input, const struct stat& output, Verb verb = Verb::encrypt,
                Format format = Format::raw) {
  Plan plan;
  plan.verb = verb;
  plan.format = format;
  Leftovers leftovers;
  return UpdateRule(plan, {leftovers, false}).leaves_out(input, output, nullptr, [] {
    return Place();
  });
}

bool left_out(std::int64_t output, std::int64_t change = changed, Verb verb = Verb::encrypt) {
  return leaves_out(file(1, modified, changed), file(2, output, change), verb);
}

TEST(Update, OutputWithTheTimeOfItsInput_IsUpToDate) {
  for (const Verb verb : {Verb::encrypt, Verb::decrypt}) {
    EXPECT_TRUE(left_out(modified, changed, verb));
    EXPECT_TRUE(left_out(modified + 1, changed, verb));
    EXPECT_TRUE(left_out(modified + 2 * second, changed, verb));
    EXPECT_FALSE(left_out(modified - 1, changed, verb));
    EXPECT_FALSE(left_out(0, changed, verb));
    // Newer plaintext may be somebody's work; a newer message is that of an input since replaced.
    EXPECT_EQ(left_out(modified + 2 * second + 1, changed, verb), verb == Verb::decrypt);
  }
}

TEST(Update, SizeThatDoesNotFit_IsThatOfAnotherInput) {
  struct stat input = file(1, modified, changed);
  input.st_size = 1;
  for (const Verb verb : {Verb::encrypt, Verb::decrypt}) {
    EXPECT_FALSE(leaves_out(input, file(2, modified, changed), verb));
    EXPECT_EQ(leaves_out(input, file(2, modified + 1, changed), verb), verb == Verb::decrypt);
  }
}

TEST(Update, SizeOfTink_HasAHeaderAndTags) {
  struct stat input = file(1, modified, changed);
  struct stat output = file(2, modified, changed);
  const auto fits = [&](off_t plain, off_t sealed) {
    input.st_size = plain;
    output.st_size = sealed;
    return leaves_out(input, output, Verb::encrypt, Format::tink);
  };
  // Sizes for AES-128 and AES-256, with one segment and with three.
  for (const off_t more : {40, 56, 72, 88}) EXPECT_TRUE(fits(100'000, 100'000 + more)) << more;
  for (const off_t more : {-8, 0, 8, 24, 39, 41, 48, 64})
    EXPECT_FALSE(fits(100, 100 + more)) << more;
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
    EXPECT_FALSE(leaves_out(file(1, modified, changed), output));
  }
  const struct stat same = file(1, modified, changed);
  EXPECT_FALSE(leaves_out(same, same));
}

}  // namespace
}  // namespace paraes::cli
