// Folders held open by descriptor, sinks that replace a file atomically, and sources that detect
// changes of their file.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "paraes/error.hpp"
#include "paraes/io.hpp"
#include "paraes/memory.hpp"
#include "src/io/fresh_pages.hpp"
#include "tests/support/environment.hpp"
#include "tests/support/mappings.hpp"
#include "tests/support/message_of.hpp"
#include "tests/support/systems.hpp"
#include "tests/support/temporary_folder.hpp"

namespace paraes {
namespace {

namespace fs = std::filesystem;

FileSink::Options sink_options(bool overwrite, bool named) {
  FileSink::Options options;
  options.overwrite = overwrite;
  options.named = named;
  return options;
}

class Io : public testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return folder_.path(name); }
  void write(const std::string& name, const std::string& text) const { folder_.write(name, text); }
  [[nodiscard]] std::string read(const std::string& name) const { return folder_.text(name); }
  [[nodiscard]] std::size_t count() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()));
  }

  static Bytes bytes(const std::string& text) {
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
  }
  // The errno of the IoError that `call` throws; 0 if it throws none.
  template <class Call>
  static int error_of(const Call& call) {
    const auto error = support::caught<IoError>(call);
    return error ? error->code() : 0;
  }

 private:
  const support::TemporaryFolder folder_;
};

TEST_F(Io, Folder_OpensFilesAndFoldersBelowIt) {
  fs::create_directories(path("a/b"));
  write("a/b/f", "text");
  const Folder folder(path("a"));
  const Descriptor file = folder.open_file("b/f", O_RDONLY);
  char text[5] = {};
  EXPECT_EQ(::read(file.get(), text, 4), 4);
  EXPECT_STREQ(text, "text");
  EXPECT_EQ(folder.open_folder("b").name(), path("a/b"));
  EXPECT_EQ(folder.open_folder("").name(), path("a"));
  EXPECT_EQ(error_of([&] { return folder.open_file("c", O_RDONLY); }), ENOENT);
}

TEST_F(Io, Folder_RefusesSymbolicLinksAndPathsThatLeaveIt) {
  fs::create_directories(path("a"));
  fs::create_directories(path("outside"));
  write("outside/f", "text");
  fs::create_symlink("../outside", path("a/link"));
  fs::create_symlink("../outside/f", path("a/file"));
  const Folder folder(path("a"));
  EXPECT_EQ(error_of([&] { return folder.open_file("link/f", O_RDONLY); }), ELOOP);
  EXPECT_EQ(error_of([&] { return folder.open_folder("link"); }), ELOOP);
  EXPECT_EQ(error_of([&] { return folder.open_file("file", O_RDONLY); }), ELOOP);
  EXPECT_EQ(error_of([&] { return folder.open_file("../outside/f", O_RDONLY); }), EXDEV);
  EXPECT_EQ(error_of([&] { return folder.open_file("/etc/passwd", O_RDONLY); }), EXDEV);
  // Longer than the kernel allows a path to be, so that its components are opened one by one.
  const std::string absolute = "/etc/passwd" + std::string(5000, '/');
  EXPECT_EQ(error_of([&] { return folder.open_file(absolute, O_RDONLY); }), EXDEV);
  // The path of the folder itself may be a link.
  EXPECT_NO_THROW(static_cast<void>(Folder(path("a/link")).open_file("f", O_RDONLY)));
}

TEST_F(Io, Folder_IsUsedByDescriptorAfterItsPathChanges) {
  fs::create_directories(path("a"));
  fs::create_directories(path("outside"));
  auto folder = std::make_shared<const Folder>(path("a"));
  fs::rename(path("a"), path("moved"));
  fs::create_symlink("outside", path("a"));
  FileSink sink(folder, "f", {});
  sink.write(bytes("text"));
  sink.commit();
  EXPECT_EQ(read("moved/f"), "text");
  EXPECT_TRUE(fs::is_empty(path("outside")));
}

TEST_F(Io, Folder_OpensPathsLongerThanPathMax) {
  const std::string name(200, 'n');
  std::string deep;
  Folder folder(path(""));
  for (int i = 0; i < 30; ++i) {
    ASSERT_EQ(mkdirat(folder.descriptor(), name.c_str(), S_IRWXU), 0);
    folder = folder.open_folder(name);
    deep += (deep.empty() ? "" : "/") + name;
  }
  struct stat expected = {};
  struct stat found = {};
  ASSERT_EQ(fstat(folder.descriptor(), &expected), 0);
  ASSERT_EQ(fstat(Folder(path("")).open_folder(deep).descriptor(), &found), 0);
  EXPECT_EQ(FileId(found), FileId(expected));
}

TEST_F(Io, UncommittedSink_LeavesTheTargetAndNoTemporary) {
  write("f", "old");
  for (const bool named : {false, true}) {
    {
      FileSink sink(path("f"), sink_options(true, named));
      sink.write(bytes("new"));
      sink.prepare();
    }
    EXPECT_EQ(read("f"), "old");
    EXPECT_EQ(count(), 1U);
  }
}

TEST_F(Io, Sink_CanLimitItsModeToThatOfTheReplacedFile) {
  for (const bool narrow : {false, true}) {
    write("f", "old");
    ASSERT_EQ(chmod(path("f").c_str(), 0640), 0);
    FileSink::Options options = sink_options(true, false);
    options.narrow = narrow;
    options.mode = 0604;
    FileSink sink(path("f"), options);
    const FileId id = sink.id();
    sink.commit();
    struct stat status = {};
    ASSERT_EQ(stat(path("f").c_str(), &status), 0);
    EXPECT_EQ(FileId(status), id);
    EXPECT_EQ(status.st_mode & 0777U, narrow ? 0600U : 0604U);
  }
}

// Where the target is known to be impossible, nobody has to write gigabytes to find out.
TEST_F(Io, Sink_RefusesAnExistingTargetBeforeAnythingIsWritten) {
  write("f", "old");
  fs::create_symlink("nothing", path("dangling"));
  fs::create_directories(path("folder"));
  for (const char* name : {"f", "dangling", "folder"}) {
    for (const bool named : {false, true}) {
      EXPECT_THROW(FileSink(path(name), sink_options(false, named)), TargetExists) << name;
    }
  }
  EXPECT_THROW(FileSink(path("f")), TargetExists);
  EXPECT_EQ(read("f"), "old");
  EXPECT_EQ(count(), 3U);
}

TEST_F(Io, Sink_RefusesATargetThatCannotBeWrittenBeforeAnythingIsWritten) {
  fs::create_directories(path("folder"));
  const auto error_for = [&](const std::string& name) {
    return error_of([&] { const FileSink sink(path(name), sink_options(true, false)); });
  };
  EXPECT_EQ(error_for("folder"), EISDIR);
  EXPECT_EQ(error_for("folder/"), EISDIR);
  EXPECT_EQ(error_for(std::string(256, 'n')), ENAMETOOLONG);
  EXPECT_EQ(error_of([] { const FileSink sink(""); }), EISDIR);
  EXPECT_EQ(count(), 1U);
}

TEST_F(Io, SinkCommit_RefusesATargetThatAppearedMeanwhile) {
  for (const bool named : {false, true}) {
    {
      FileSink sink(path("f"), sink_options(false, named));
      sink.write(bytes("ours"));
      write("f", "somebody else's");
      EXPECT_THROW(sink.commit(), TargetExists);
    }
    EXPECT_EQ(read("f"), "somebody else's");
    EXPECT_EQ(count(), 1U);
    fs::remove(path("f"));
  }
}

TEST_F(Io, SinkCommit_RefusesATemporaryThatWasReplaced) {
  FileSink sink(path("f"), sink_options(false, true));
  sink.write(bytes("ours"));
  fs::remove(sink.temporary());
  std::ofstream(sink.temporary()) << "somebody else's";
  EXPECT_THROW(sink.commit(), IoError);
  EXPECT_FALSE(fs::exists(path("f")));
  // The file that replaced the temporary stays.
  EXPECT_TRUE(fs::exists(sink.temporary()));
}

TEST_F(Io, IsTemporaryName_AcceptsNamesOfTemporariesOnly) {
  const FileSink sink(path("f"), sink_options(false, true));
  EXPECT_TRUE(is_temporary_name(file_name_of(sink.temporary())));
  EXPECT_TRUE(is_temporary_name(".f.host.1.01234567.paraes-tmp"));
  EXPECT_TRUE(is_temporary_name(".F.HOST.1.0123CDEF.PARAES-TMP"));
  for (const char* name :
       {"", ".paraes-tmp", "f.paraes-tmp", ".f.paraes-tmp", "f.host.1.01234567.paraes-tmp",
        ".f.host.x.01234567.paraes-tmp", ".f.host.1.0123456.paraes-tmp",
        ".host.1.01234567.paraes-tmp", ".f.host.1.01234567.paraes-tmp2"}) {
    EXPECT_FALSE(is_temporary_name(name)) << name;
  }
}

TEST_F(Io, MemorySource_IsReadInOrderAndAtAnyOffset) {
  const std::string text = "0123456789";
  MemorySource source(bytes(text), "digits");
  EXPECT_EQ(source.name(), "digits");
  EXPECT_EQ(source.size(), 10U);
  std::array<std::uint8_t, 8> buffer{};
  EXPECT_EQ(source.read(buffer), 8U);
  EXPECT_EQ(source.remaining(), 2U);
  EXPECT_EQ(source.read_at(5, buffer), 5U);
  EXPECT_EQ(buffer[0], '5');
  EXPECT_EQ(source.read(buffer), 2U);
  EXPECT_EQ(buffer[1], '9');
  EXPECT_EQ(source.read(buffer), 0U);
  EXPECT_EQ(source.remaining(), 0U);
  for (const std::uint64_t end : {std::uint64_t{10}, std::uint64_t{11}, UINT64_MAX}) {
    EXPECT_EQ(source.read_at(end, buffer), 0U) << end;
  }
  source.check_unchanged();
}

TEST_F(Io, FileSource_ReadsAFileAndRefusesToReadAFifo) {
  write("f", "0123456789");
  FileSource source = FileSource::open(path("f"));
  EXPECT_EQ(source.name(), path("f"));
  EXPECT_EQ(source.size(), 10U);
  std::array<std::uint8_t, 16> buffer{};
  EXPECT_EQ(source.read(buffer), 10U);
  EXPECT_EQ(buffer[9], '9');
  EXPECT_EQ(FileSource(path("f")).size(), 10U);
  EXPECT_EQ(error_of([&] { return FileSource::open(path("none")); }), ENOENT);
  EXPECT_EQ(error_of([&] { return FileSource(path("none")); }), ENOENT);
  ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
  FileSource fifo = FileSource::open(path("fifo"));
  EXPECT_EQ(error_of([&] { return fifo.read(buffer); }), ESPIPE);
}

TEST_F(Io, FileSource_DetectsChangesSinceItWasOpened) {
  write("f", "0123456789");
  const auto open_source = [&] { return FileSource::open(path("f")); };
  const FileSource same = open_source();
  EXPECT_NO_THROW(same.check_unchanged());
  const FileSource overwritten = open_source();
  write("f", "abcdefghij");
  // Changes the time stamp for certain: file systems update their clock only a few hundred times a
  // second.
  fs::last_write_time(path("f"), fs::last_write_time(path("f")) + std::chrono::seconds(1));
  EXPECT_EQ(error_of([&] { overwritten.check_unchanged(); }), EIO);
  const FileSource longer = open_source();
  std::ofstream(path("f"), std::ios::app) << "more";
  EXPECT_EQ(error_of([&] { longer.check_unchanged(); }), EIO);
  const FileSource shorter = open_source();
  fs::resize_file(path("f"), 3);
  EXPECT_EQ(error_of([&] { shorter.check_unchanged(); }), EIO);
}

TEST_F(Io, ReadWhole_ReadsAFileThatStaysAndDetectsEveryChange) {
  const auto open_source = [&] { return FileSource::open(path("f")); };
  // All bytes, or the errno of the error.
  const auto read = [](const FileSource& source) {
    std::vector<std::uint8_t> buffer(static_cast<std::size_t>(source.size()) + 1);
    const int error = error_of([&] { source.read_whole(buffer); });
    return error != 0 ? std::to_string(error) : std::string(buffer.begin(), buffer.end() - 1);
  };
  for (const std::string text : {"", "0123456789"}) {
    write("f", text);
    EXPECT_EQ(read(open_source()), text);
    const FileSource longer = open_source();
    std::ofstream(path("f"), std::ios::app) << "m";
    EXPECT_EQ(read(longer), std::to_string(EIO));
  }
  const FileSource shorter = open_source();
  fs::resize_file(path("f"), 3);
  EXPECT_EQ(read(shorter), std::to_string(EIO));
  const FileSource overwritten = open_source();
  write("f", "abc");
  fs::last_write_time(path("f"), fs::last_write_time(path("f")) + std::chrono::seconds(1));
  EXPECT_EQ(read(overwritten), std::to_string(EIO));
  // It says that it has no bytes.
  EXPECT_EQ(read(FileSource::open("/proc/self/status")), std::to_string(EIO));
}

// Whether the mapping that `address` lies in asked for huge pages.
bool asks_for_huge_pages(const void* address) {
  const auto flags = support::mapping_flags(address);
  return !flags.empty() && flags[0].find(" hg ") != std::string::npos;
}

TEST(IoBuffer, AsksForHugePagesFromTheSizeOfOneOn) {
  constexpr std::size_t huge_page = std::size_t{2} << 20;
  IoBuffer large(huge_page + 1);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(large.data()) % huge_page, 0U);
  if (support::posix_only()) GTEST_SKIP() << "POSIX has no huge pages";
  if (!std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled")) {
    GTEST_SKIP() << "this system has no transparent huge pages";
  }
  if (support::is_emulated()) GTEST_SKIP() << "the emulator ignores MADV_HUGEPAGE";
  EXPECT_TRUE(asks_for_huge_pages(large.data()));
}

TEST(FreshPages, AreHugeAndHandedOutOnce) {
  FreshPages pages;
  constexpr std::size_t piece = 262400;  // a chunk of 256 KiB and its tags
  for (int i = 0; i < 40; ++i) {
    const FreshPages::Piece fresh = pages.take(piece);
    const MutableBytes taken = fresh.bytes;
    if (taken.empty()) GTEST_SKIP() << "the system gives no huge pages";
    ASSERT_EQ(taken.size(), piece);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(taken.data()) % 4096, 0U);
    EXPECT_TRUE(std::all_of(taken.begin(), taken.end(), [](auto byte) { return byte == 0; })) << i;
    std::fill(taken.begin(), taken.end(), std::uint8_t{1});
    // The first piece of a region: its mapping asked for huge pages.
    if (i == 0) {
      EXPECT_TRUE(asks_for_huge_pages(taken.data()));
    }
  }
  EXPECT_EQ(pages.take(std::size_t{9} << 20).bytes.size(), std::size_t{9} << 20);
}

// A pipe has the pages of a sink's caller, who unmaps them before anyone reads.
TEST(PipeSink, WritePages_OutlivesTheMapping) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const Descriptor reader(ends[0]);
  PipeSink sink(Descriptor(ends[1]), "the pipe");
  ASSERT_EQ(sink.takes_pages(), !support::posix_only());
  if (support::posix_only()) GTEST_SKIP() << "POSIX has no pipes that take pages";
  constexpr std::size_t bytes = 40000;  // no multiple of a page; fits the smallest pipe
  {
    FreshPages pages;
    const FreshPages::Piece fresh = pages.take(bytes);
    const MutableBytes taken = fresh.bytes;
    if (taken.empty()) GTEST_SKIP() << "the system gives no huge pages";
    for (std::size_t i = 0; i < bytes; ++i) taken[i] = static_cast<std::uint8_t>(i % 251);
    sink.write_pages(taken.subspan(1));
    sink.write(taken.first(1));
  }
  sink.commit();
  std::vector<std::uint8_t> got(bytes + 1);
  std::size_t held = 0;
  for (ssize_t n = 1; n > 0; held += static_cast<std::size_t>(n)) {
    n = read(reader.get(), got.data() + held, got.size() - held);
    ASSERT_GE(n, 0);
  }
  ASSERT_EQ(held, bytes);
  for (std::size_t i = 0; i + 1 < bytes; ++i) ASSERT_EQ(got[i], (i + 1) % 251) << i;
  EXPECT_EQ(got[bytes - 1], 0);
}

TEST_F(Io, PipeSink_CopiesToFiles) {
  PipeSink sink(Descriptor(open(path("f").c_str(), O_CREAT | O_WRONLY, 0600)), "f");
  EXPECT_FALSE(sink.takes_pages());
  sink.write_pages(bytes("data"));
  sink.commit();
  EXPECT_EQ(read("f"), "data");
}

}  // namespace
}  // namespace paraes
