// Files encrypted and decrypted with the shortest calls that the headers suggest: each form
// compiles and gives the same plaintext.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "paraes/error.hpp"
#include "paraes/io.hpp"
#include "paraes/kdf.hpp"
#include "paraes/messages.hpp"
#include "paraes/secret.hpp"
#include "tests/support/temporary_folder.hpp"

namespace paraes {
namespace {

class WholeFiles : public testing::Test {
 protected:
  WholeFiles() : plain_(100000, 'x'), key_(32) {
    random_bytes(key_);
    folder_.write("plain", plain_);
  }

  [[nodiscard]] std::string path(const std::string& name) const { return folder_.path(name); }
  void open(const std::string& sealed, const std::string& to, Bytes context = {}) const {
    FileSource source(path(sealed));
    FileSink sink(path(to));
    open_message(source, open_paraes_message(read_paraes_header(source), key_, context), sink);
    sink.commit();
  }

  support::TemporaryFolder folder_;
  std::string plain_;
  SecretBytes key_;
};

TEST_F(WholeFiles, SealAndOpenMessage_TakeTemporaries) {
  FileSource source(path("plain"));
  FileSink sink(path("sealed"));
  seal_message(source, new_paraes_message(key_), sink);
  sink.commit();
  open("sealed", "opened");
  EXPECT_EQ(folder_.text("opened"), plain_);
  // Without a sink, it authenticates.
  FileSource sealed(path("sealed"));
  const OpenResult result =
      open_message(sealed, open_paraes_message(read_paraes_header(sealed), key_), nullptr);
  EXPECT_EQ(result.plain_bytes, plain_.size());
}

TEST_F(WholeFiles, SealMessage_TakesAVariable) {
  const std::vector<std::uint8_t> context = {1, 2, 3};
  auto message = new_paraes_message(Preface::for_key(key_.size()), key_, context);
  FileSource source(path("plain"));
  FileSink sink(path("sealed"));
  seal_message(source, message, sink);
  sink.commit();
  open("sealed", "opened", context);
  EXPECT_EQ(folder_.text("opened"), plain_);
  EXPECT_THROW(open("sealed", "without context"), WrongKey);
}

TEST_F(WholeFiles, MessageFromACopyOfItsParts_HasTheSameKeyAndLayout) {
  const Message::Parts parts = new_c2sp_message(key_);
  const Message first(parts);
  const Message second = parts;
  std::vector<std::uint8_t> sealed(100 + segment_tag_bytes);
  seal_segments(first, 0, true, std::vector<std::uint8_t>(100, 7), sealed);
  std::vector<std::uint8_t> opened(100);
  open_segments(second, 0, true, sealed, opened);
  EXPECT_EQ(opened, std::vector<std::uint8_t>(100, 7));
  EXPECT_TRUE(second.commits());
  EXPECT_EQ(std::vector(second.header().begin(), second.header().end()), parts.header);
}

}  // namespace
}  // namespace paraes
