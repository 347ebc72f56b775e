// Which names may be one for a file system, and how a file that was written is found again.

#include "cli/name_probe.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

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
  };
  for (const auto& [one, other] : same) {
    EXPECT_EQ(outline_of(one), outline_of(other)) << one << " " << other;
    EXPECT_EQ(hash_of_outline(one), hash_of_outline(other)) << one << " " << other;
  }
}

TEST(Outline, OtherNames_HaveDifferentOnes) {
  const std::pair<const char*, const char*> different[] = {
      {"a", "b"},
      {"a/b", "ab"},
      {"a.b", "ab"},
      {"a b", "ab"},
      {"\u5199\u771f", "\u6587\u66f8"},  // ideographs
      {"a", "a1"},
  };
  for (const auto& [one, other] : different) {
    EXPECT_NE(outline_of(one), outline_of(other)) << one << " " << other;
    EXPECT_NE(hash_of_outline(one), hash_of_outline(other)) << one << " " << other;
  }
}

TEST(NameProbe, FindsWhatItsFolderDoes_AndLeavesNothing) {
  const TemporaryFolder folder;
  folder.write("lower", std::string());
  const bool folds = folder.has("LOWER");
  std::filesystem::remove(folder.path("lower"));
  {
    NameProbe probe(std::make_shared<const Folder>(folder.path()));
    EXPECT_EQ(probe.folds(), folds);
    EXPECT_TRUE(probe.is_new("a/b/name"));
    EXPECT_FALSE(probe.is_new("a/b/name"));
    EXPECT_TRUE(probe.is_new("a/c/name"));
    EXPECT_EQ(probe.is_new("A/B/Name"), !folds);
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(NameProbe, FolderThatDoesNotExistAnyMore_DoesNotFold) {
  auto folder = std::make_unique<TemporaryFolder>();
  NameProbe probe(std::make_shared<const Folder>(folder->path()));
  folder.reset();
  EXPECT_FALSE(probe.folds());
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
