// KnownSecrets: which contents of a file are those of a secret, and which are not.

#include <fcntl.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "paraes/io.hpp"
#include "paraes/known_secrets.hpp"
#include "tests/support/temporary_folder.hpp"

namespace paraes {
namespace {

Bytes bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// In base64 "++//…", and in base64url "--__…". Hex digits of both kinds.
constexpr std::string_view key = "\xfb\xef\xff\x01\x23\x45\x67\x89\xab\xcd\xef\x10\x32\x54\x76\x98";
constexpr std::string_view identity =
    "# public key: age1xyz\r\nAGE-SECRET-KEY-1ABC\n\n# another\nAGE-SECRET-KEY-1DEF\n";

struct Case {
  const char* secret;  // what is found; "" for nothing
  std::string contents;
};

TEST(KnownSecrets, AreFoundInEveryForm) {
  KnownSecrets known;
  known.add_key(bytes_of(key), "key");
  known.add_passphrase(bytes_of("correct horse"), "passphrase");
  known.add_passphrase(bytes_of("first "), "first line");
  known.add_text(bytes_of("{ \"a\": [1,\n2] }"), "keyset");
  known.add_text(bytes_of(identity), "identity");
  known.add_passphrase({}, "nothing");
  const std::string raw(key);
  const Case cases[] = {
      {"key", raw},
      {"key", "fbefff0123456789abcdef1032547698"},
      {"key", "FBEFFF0123456789ABCDEF1032547698\n"},
      {"key", "fbefff0123456789ABCDEF1032547698\r\n"},
      {"key", "++//ASNFZ4mrze8QMlR2mA=="},
      {"key", "++//ASNFZ4mrze8QMlR2mA\n"},
      {"key", "--__ASNFZ4mrze8QMlR2mA==\r\n"},
      {"passphrase", "correct horse"},
      {"passphrase", "correct horse\n"},
      {"passphrase", "correct horse\r\n"},
      {"key", "fb:ef:ff:01:23:45:67:89:ab:cd:ef:10:32:54:76:98\n"},
      {"key", "fbefff0123456789\nabcdef1032547698\n\n"},
      {"key", "++//ASNFZ4mr\nze8QMlR2mA==\n"},
      {"passphrase", "correct horse\n\n"},
      {"passphrase", "\n correct horse \nwith a note"},
      {"first line", "first"},
      {"first line", " first\nand a note"},
      {"keyset", "{\"a\":[1,2]}"},
      {"keyset", "{\n  \"a\": [\n    1,\n    2\n  ]\n}\n"},
      {"identity", std::string(identity)},
      {"identity", "AGE-SECRET-KEY-1DEF"},
      {"identity", "# mine\n  AGE-SECRET-KEY-1ABC\r\n"},
      {"", ""},
      {"", "\n"},
      {"", raw + '\n'},
      {"", raw.substr(1)},
      {"", raw.substr(0, 15) + '\x99'},
      {"", "fbefff0123456789abcdef1032547699"},
      {"", "fbefff0123456789abcdef1032547698 and more"},
      {"", "++//ASNFZ4mrze8QMlR2mB=="},
      {"", "++//ASNFZ4mrze8QMlR2mA==="},
      {"", "Correct horse"},
      {"", "correct  horse"},
      {"", "a note\nfirst"},
      {"", "{\"a\":[2,1]}"},
      {"", "AGE-SECRET-KEY-1AB"},
      {"", "# public key: age1xyz\n"},
      {"", std::string(KnownSecrets::most_file_bytes, ' ') + raw},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(known.find(bytes_of(one.contents)).value_or(""), one.secret) << one.contents;
    // The sizes leave nothing out.
    EXPECT_TRUE(*one.secret == '\0' || known.may_be_in(one.contents.size())) << one.contents;
  }
}

TEST(KnownSecrets, AreOnlyInFilesOfFittingSizes) {
  KnownSecrets known;
  EXPECT_FALSE(known.may_be_in(16));
  known.add_key(bytes_of(key), "key");
  std::string sizes;
  for (std::size_t bytes = 0; bytes < 100; ++bytes) {
    if (known.may_be_in(bytes)) sizes += std::to_string(bytes) + ' ';
  }
  EXPECT_EQ(sizes.substr(0, 12), "16 22 23 24 ");
  EXPECT_TRUE(sizes.ends_with(" 65 66 "));  // all digits with white space between
  known.add_passphrase(bytes_of("first "), "first line");
  EXPECT_FALSE(known.may_be_in(4));
  EXPECT_TRUE(known.may_be_in(KnownSecrets::most_file_bytes));
  EXPECT_FALSE(known.may_be_in(KnownSecrets::most_file_bytes + 1));
}

TEST(KnownSecrets, AreLinesOnlyOfFilesThatAreReplaced) {
  KnownSecrets known;
  known.add_text(bytes_of(identity), "identity");
  known.add_passphrase(bytes_of("first"), "passphrase");
  for (const std::string log : {"a log\nAGE-SECRET-KEY-1DEF\n", "first\nof a log"}) {
    EXPECT_TRUE(known.find(bytes_of(log)).has_value());
    EXPECT_FALSE(known.find(bytes_of(log), KnownSecrets::Part::all).has_value());
  }
  EXPECT_TRUE(known.find(bytes_of(identity), KnownSecrets::Part::all).has_value());
  EXPECT_TRUE(known.find(bytes_of("first\n"), KnownSecrets::Part::all).has_value());
}

TEST(KnownSecrets, AreFoundInOpenFiles) {
  KnownSecrets known;
  known.add_key(bytes_of(key), "key");
  const support::TemporaryFolder files;
  const Descriptor file(open(files.write("key", key).c_str(), O_RDONLY | O_CLOEXEC));
  lseek(file.get(), 7, SEEK_SET);
  EXPECT_EQ(known.find_in(file.get()), "key");
  EXPECT_EQ(lseek(file.get(), 0, SEEK_CUR), 7);
  // Long files: the beginning of a binary one is enough.
  known.add_passphrase(bytes_of("first"), "passphrase");
  for (const char byte : {'x', '\0'}) {
    const std::string path = files.write("long", "first\n" + std::string(5000, byte));
    const Descriptor long_file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    EXPECT_EQ(known.find_in(long_file.get()).has_value(), byte == 'x');
  }
  const Descriptor folder(open("/", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(known.find_in(folder.get()), std::nullopt);
  EXPECT_EQ(known.find_in(-1), std::nullopt);
}

}  // namespace
}  // namespace paraes
