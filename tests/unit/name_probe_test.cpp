// Which names may be one for a file system, and how a file that was written is found again.

#include "cli/files/name_probe.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "paraes/io.hpp"
#include "tests/support/temporary_folder.hpp"

namespace paraes::cli {
namespace {

using support::TemporaryFolder;

TEST(Outline, NamesThatSomeFileSystemTakesForOne_HaveTheSame) {
  const std::pair<const char*, const char*> same[] = {
      {"README", "readme"},
      {"a/B/c.TXT", "A/b/C.txt"},
      {"\u00c9t\u00e9", "\u00e9t\u00c9"},      // case
      {"\u00e9t\u00e9", "e\u0301te\u0301"},    // one character, or a letter and an accent
      {"\u0416\u0439", "\u0436\u0438\u0306"},  // Cyrillic
      {"name", "name. ."},                     // what FAT drops
      {"folder./x", "FOLDER/x"},
      {"stra\u00dfe", "STRASSE"},
      {"\u00df\u0308", "ss\u0308"},
      {"\uf900", "\u8c48"},  // a second ideograph for the same
      {"\u037e", ";"},
      {"\u1fef", "`"},
      {"\u1e9b", "s\u0307"},
      {"\u017f\u0307", "s\u0307"},
      {"a\u0345", "a\u03b9"},
      {"e\u034f\u0301", "\u00e9"},
  };
  for (const auto& [one, other] : same) {
    EXPECT_EQ(outline_of(one), outline_of(other)) << one << " " << other;
    EXPECT_EQ(hash_of_outline(one), hash_of_outline(other)) << one << " " << other;
  }
}

TEST(Outline, OtherNames_HaveDifferentOnes) {
  const std::pair<const char*, const char*> different[] = {
      {"a", "b"}, {"a/b", "ab"}, {"a.b", "ab"}, {"a b", "ab"}, {"a", "a1"},
  };
  for (const auto& [one, other] : different) {
    EXPECT_NE(outline_of(one), outline_of(other)) << one << " " << other;
    EXPECT_NE(hash_of_outline(one), hash_of_outline(other)) << one << " " << other;
  }
}

class Probe : public testing::Test {
 protected:
  [[nodiscard]] std::vector<std::size_t> repeated(const std::vector<std::string>& names) {
    std::vector<std::string> paths;
    for (const std::string& name : names) paths.push_back(folder_.path(name));
    return probe_.find_repeated(paths);
  }

  const TemporaryFolder folder_;
  Leftovers leftovers_;
  NameProbe probe_{Probing{leftovers_}};
};

TEST_F(Probe, FindsWhatItsFolderDoes_AndLeavesNothing) {
  folder_.write("lower", std::string());
  const bool folds = folder_.has("LOWER");
  std::filesystem::remove(folder_.path("lower"));
  std::vector<std::size_t> wanted;
  if (folds) wanted = {2, 3};
  EXPECT_EQ(repeated({"a/b/name", "a/c/name", "a/b/Name", "A/B/name"}), wanted);
  EXPECT_EQ(probe_.are_one(folder_.path("name"), folder_.path("NAME")), folds);
  EXPECT_FALSE(probe_.are_one(folder_.path("name"), folder_.path("name")));
  EXPECT_FALSE(probe_.are_one(folder_.path("name"), folder_.path("other")));
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(Probe, FolderOfAKilledRun_IsRemoved) {
  std::string left;
  {
    FileSink::Options options;
    options.named = true;
    const FileSink file(folder_.path("paraes-names-a\u00e9"), std::move(options));
    left = file_name_of(file.temporary());
  }
  left.replace(left.size() - std::string("01234567.paraes-tmp").size(), 8, "00000000");
  std::filesystem::create_directories(folder_.path(left + "/a"));
  static_cast<void>(repeated({"name", "NAME"}));
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

class Written : public testing::Test {
 protected:
  static WrittenFile write(const std::string& path, const std::string& contents) {
    FileSink::Options options;
    options.overwrite = true;
    FileSink sink(path, std::move(options));
    sink.write({reinterpret_cast<const std::uint8_t*>(contents.data()), contents.size()});
    sink.commit();
    return sink.written();
  }
  [[nodiscard]] bool is_at(const WrittenFile& file, const std::string& name,
                           bool follow = false) const {
    return file.is_at(AT_FDCWD, folder_.path(name).c_str(), follow);
  }

  const TemporaryFolder folder_;
  const WrittenFile file_ = write(folder_.path("f"), "contents");
};

TEST_F(Written, IsFoundByItsName) {
  ASSERT_TRUE(file_.id);
  EXPECT_TRUE(is_at(file_, "f"));
  EXPECT_FALSE(is_at(file_, "g"));
  ASSERT_EQ(symlink("f", folder_.path("link").c_str()), 0);
  EXPECT_FALSE(is_at(file_, "link"));
  EXPECT_TRUE(is_at(file_, "link", true));
}

TEST_F(Written, FileWithOtherContents_IsAnotherOne) {
  WrittenFile without_id = file_;
  without_id.id.reset();
  const std::string longer(100, 'x');
  for (const std::string& contents : {std::string("Contents"), std::string("conten"), longer}) {
    write(folder_.path("f"), contents);
    EXPECT_FALSE(is_at(file_, "f")) << contents;
    EXPECT_FALSE(is_at(without_id, "f")) << contents;
  }
}

TEST_F(Written, CopyOfTheFile_IsTheSameOnlyWhereInodesAreMadeUp) {
  write(folder_.path("copy"), "contents");
  EXPECT_FALSE(is_at(file_, "copy"));
  WrittenFile without_id = file_;
  without_id.id.reset();
  EXPECT_TRUE(is_at(without_id, "copy"));
}

TEST_F(Written, FileWithoutBytes_IsComparedByLength) {
  const WrittenFile empty = write(folder_.path("empty"), "");
  EXPECT_TRUE(is_at(empty, "empty"));
  EXPECT_FALSE(is_at(empty, "f"));
}

}  // namespace
}  // namespace paraes::cli
