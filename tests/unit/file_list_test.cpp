// The list of files that a run found, and the sets it uses.

#include "cli/files/file_list.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "cli/files/compact_set.hpp"

namespace paraes::cli {
namespace {

FileId file_id(dev_t device, ino_t inode) {
  FileId id;
  id.device = device;
  id.inode = inode;
  return id;
}

TEST(CompactSet, HoldsWhatWasInsertedThroughAllGrowth) {
  CompactSet<std::uint32_t, ~std::uint32_t{0}, SpreadBits> set;
  EXPECT_FALSE(set.contains(0));
  constexpr std::uint32_t count = 100'000;
  for (std::uint32_t i = 0; i < count; ++i) ASSERT_TRUE(set.insert(7 * i)) << i;
  for (std::uint32_t i = 0; i < count; ++i) {
    ASSERT_FALSE(set.insert(7 * i)) << i;
    ASSERT_TRUE(set.contains(7 * i)) << i;
    ASSERT_FALSE(set.contains(7 * i + 1)) << i;
  }
}

// All in one place of the table: every search passes all others.
struct SameHash {
  std::uint64_t operator()(std::uint32_t) const { return ~std::uint64_t{0}; }
};

TEST(CompactSet, FindsValuesWhoseHashesAreEqual) {
  CompactSet<std::uint32_t, 0, SameHash> set;
  for (std::uint32_t i = 1; i < 500; ++i) ASSERT_TRUE(set.insert(i)) << i;
  for (std::uint32_t i = 1; i < 500; ++i) ASSERT_TRUE(set.contains(i)) << i;
  EXPECT_FALSE(set.contains(500));
}

struct LastDigit {
  std::uint64_t operator()(std::uint32_t value) const { return SpreadBits()(value % 10); }
  bool operator()(std::uint32_t a, std::uint32_t b) const { return a % 10 == b % 10; }
};

TEST(CompactSet, UsesTheEqualityGiven) {
  CompactSet<std::uint32_t, 0, LastDigit, LastDigit> set;
  EXPECT_TRUE(set.insert(12));
  EXPECT_FALSE(set.insert(22));
  EXPECT_TRUE(set.contains(32));
  EXPECT_TRUE(set.insert(23));
}

TEST(FileIdSet, TellsDevicesAndInodesApart) {
  FileIdSet set;
  EXPECT_TRUE(set.insert(file_id(1, 5)));
  EXPECT_FALSE(set.insert(file_id(1, 5)));
  EXPECT_FALSE(set.contains(file_id(2, 5)));
  EXPECT_TRUE(set.insert(file_id(2, 5)));
  EXPECT_FALSE(set.contains(file_id(2, 6)));
  EXPECT_FALSE(set.contains(file_id(1, 0)));
  EXPECT_TRUE(set.insert(file_id(1, 0)));
  EXPECT_TRUE(set.contains(file_id(1, 0)));
}

TEST(FileList, KeepsNamesOfAnyLengthWhereTheyAre) {
  FileList list;
  std::vector<const char*> names;
  std::vector<std::string> expected;
  for (std::size_t i = 0; i < 3000; ++i) {
    expected.push_back(std::string(i % 257, 'a') + std::to_string(i));
    names.push_back(list.add_name(expected.back()));
  }
  expected.emplace_back(200'000, 'b');
  names.push_back(list.add_name(expected.back()));
  expected.emplace_back("after it");
  names.push_back(list.add_name(expected.back()));
  for (std::size_t i = 0; i < names.size(); ++i) ASSERT_EQ(names[i], expected[i]);
}

TEST(FileList, JoinsPathsOfTopsFoldersAndFiles) {
  FileList list;
  const std::uint32_t argument =
      list.add_top({.root = nullptr, .shown = "x/", .mirrored = "", .follow = true});
  const std::uint32_t tree = list.add_top({.root = nullptr, .shown = "t/", .mirrored = "t/"});
  const std::uint32_t deep = list.add_folder(tree, "a/b");
  const FoundFile alone = {.name = list.add_name("f"), .folder = argument};
  const FoundFile top = {.name = list.add_name("g"), .folder = tree};
  const FoundFile below = {.name = list.add_name("h"), .folder = deep};
  EXPECT_EQ(list.path(alone), "f");
  EXPECT_EQ(list.shown(alone), "x/f");
  EXPECT_EQ(list.mirrored(alone), "f");
  EXPECT_TRUE(list.place(alone).follow);
  EXPECT_EQ(list.shown(top), "t/g");
  EXPECT_EQ(list.path(below), "a/b/h");
  EXPECT_EQ(list.shown(below), "t/a/b/h");
  EXPECT_EQ(list.mirrored(below), "t/a/b/h");
  EXPECT_FALSE(list.place(below).follow);
  EXPECT_EQ(list.place(below).folder(), "a/b");
}

}  // namespace
}  // namespace paraes::cli
