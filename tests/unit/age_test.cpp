// How the library calls the program age, with scripts in its place.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "paraes/error.hpp"
#include "paraes/recipients.hpp"
#include "tests/support/age_file.hpp"
#include "tests/support/buffers.hpp"
#include "tests/support/environment.hpp"
#include "tests/support/hex.hpp"
#include "tests/support/message_of.hpp"
#include "tests/support/temporary_folder.hpp"

namespace paraes {
namespace {

namespace fs = std::filesystem;

using support::Buffer;
using support::caught;
using support::message_of;
using support::ScopedEnvironment;
using support::throws;

// A folder with the files and scripts of a test.
class Age : public testing::Test {
 protected:
  Age() {
    folder.write("key", run_key);
    folder.write("age-file", age_file);
    folder.write("identities", std::string("AGE-SECRET-KEY-1\n"));
  }

  // The program age, which does these commands of sh.
  [[nodiscard]] AgeProgram script(const std::string& commands) {
    AgeProgram program;
    program.name = folder.write_script("age", commands);
    program.on_message = [this](std::string_view line) { messages.emplace_back(line); };
    return program;
  }

  [[nodiscard]] Buffer decrypt(const AgeProgram& program) const {
    const AgeIdentities identities({folder.path("identities")});
    const SecretBytes key = identities.decrypt(program, age_file);
    return {key.span().begin(), key.span().end()};
  }
  [[nodiscard]] Buffer decrypt(const std::string& commands) { return decrypt(script(commands)); }

  [[nodiscard]] Buffer encrypt(const std::string& commands,
                               const AgeRecipients& recipients = {.keys = {"age1x"}, .files = {}}) {
    return encrypt_with_age(script(commands), run_key, recipients);
  }

  // A script's words for its arguments and environment, and what of the run key may not be there.
  const std::string dump = "printf '%s\\n' \"$@\" > \"$folder/arguments\"\nenv > \"$folder/env\"\n";
  void expect_no_secret_in_dump() const {
    const std::string arguments = folder.text("arguments");
    const std::string environment = folder.text("env");
    EXPECT_NE(environment.find("PATH="), std::string::npos);
    for (const std::string& text : {arguments, environment}) {
      EXPECT_EQ(text.find(std::string(run_key.begin(), run_key.end())), std::string::npos);
      EXPECT_EQ(text.find(support::to_hex(run_key)), std::string::npos);
      EXPECT_EQ(text.find("AGE-SECRET-KEY"), std::string::npos);
    }
  }
  // The arguments, each followed by a space.
  [[nodiscard]] std::string arguments() const {
    std::string text = folder.text("arguments");
    for (char& c : text) c = c == '\n' ? ' ' : c;
    return text;
  }

  const support::TemporaryFolder folder;
  const Buffer run_key = support::make_key(run_key_bytes, 5);
  const Buffer age_file = support::make_age_file();
  std::vector<std::string> messages;
};

TEST_F(Age, Decrypt_ReturnsTheKeyThatTheProgramWrites) {
  const std::string commands = dump + "cat > \"$folder/input\"\ncat \"$folder/key\"";
  EXPECT_EQ(support::difference(decrypt(commands), run_key), "");
  EXPECT_EQ(support::difference(folder.read("input"), age_file), "");
  EXPECT_EQ(arguments(), "-d -i " + folder.path("identities") + " ");
  EXPECT_TRUE(messages.empty());
  expect_no_secret_in_dump();
}

TEST_F(Age, Decrypt_AcceptsExactly32Bytes) {
  for (const std::size_t bytes : {0U, 31U, 32U, 33U, 1000000U}) {
    const std::string commands = "head -c " + std::to_string(bytes) + " /dev/zero";
    if (bytes == 32) {
      EXPECT_EQ(decrypt(commands), Buffer(32));
    } else {
      EXPECT_TRUE(throws<IntegrityError>([&] { return decrypt(commands); }, "32 bytes")) << bytes;
    }
  }
}

TEST_F(Age, Decrypt_ThatIsRefused_SaysWhy) {
  const std::string refusal =
      "echo 'age: error: no identity matched any of the recipients' >&2\n"
      "echo 'age: report unexpected or unhelpful errors at https://filippo.io/age/report' >&2\n"
      "exit 1";
  // It is a refusal even if the program has written a key before.
  for (const std::string before : {"", "cat \"$folder/key\"\n"}) {
    const auto error = caught<WrongKey>([&] { return decrypt(before + refusal); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->secret(), WrongKey::Secret::identity);
    EXPECT_STREQ(error->what(),
                 "age refuses the identities: no identity matched any of the recipients");
  }
  const auto text_of = [&](const std::string& commands) {
    return message_of<WrongKey>([&] { static_cast<void>(decrypt(commands)); });
  };
  EXPECT_NE(text_of("echo one >&2; echo two >&2; exit 2").find("one; two"), std::string::npos);
  EXPECT_NE(text_of("printf 'no newline' >&2; exit 1").find("no newline"), std::string::npos);
  EXPECT_NE(text_of("exit 1").find("does not say why"), std::string::npos);
  const std::string flood = text_of("yes words | head -c 1000000 >&2; exit 1");
  EXPECT_NE(flood.find("words; words"), std::string::npos);
  EXPECT_LT(flood.size(), 20000U);
  // The text of a refusal is in the exception alone.
  EXPECT_TRUE(messages.empty());
}

TEST_F(Age, ProgramEndedByASignal_IsNoOtherError) {
  const auto expect_error = [&](const auto& action) {
    EXPECT_TRUE(throws<Error>(action, folder.path("age") + ": signal 9"));
    EXPECT_FALSE(throws<WrongKey>(action));
    EXPECT_FALSE(throws<IntegrityError>(action));
    EXPECT_FALSE(throws<InvalidArgument>(action));
  };
  expect_error([&] { return decrypt("cat \"$folder/key\"; kill -9 $$"); });
  expect_error([&] { return encrypt("cat \"$folder/age-file\"; kill -9 $$"); });
}

TEST_F(Age, ProgramNotInPath_IsUnavailable) {
  fs::create_directory(folder.path("empty"));
  const ScopedEnvironment path("PATH", folder.path("empty"));
  AgeProgram program;
  program.name = "paraes-no-such-age";
  EXPECT_TRUE(throws<Unavailable>([&] { return decrypt(program); }, "paraes-no-such-age"));
  EXPECT_THROW(
      static_cast<void>(encrypt_with_age(program, run_key, {.keys = {"age1x"}, .files = {}})),
      Unavailable);
  // A path is not looked up.
  program.name = folder.path("none");
  EXPECT_TRUE(throws<Unavailable>([&] { return decrypt(program); }, "cannot start it"));
}

TEST_F(Age, ProgramInARelativeFolderOfPath_IsUnavailable) {
  AgeProgram program = script("cat \"$folder/key\"");
  const std::string name = fs::path(program.name).filename().string();
  program.name = name;
  const std::string before = std::getenv("PATH");
  const std::string relative = fs::relative(folder.path()).string();
  ASSERT_NE(relative.front(), '/');
  {
    // It is refused even if an absolute one follows.
    const ScopedEnvironment path("PATH", relative + ":" + folder.path() + ":" + before);
    EXPECT_TRUE(throws<Unavailable>([&] { return decrypt(program); }, "relative"));
  }
  const ScopedEnvironment path("PATH", folder.path() + ":" + relative + ":" + before);
  EXPECT_EQ(support::difference(decrypt(program), run_key), "");
}

TEST_F(Age, ProgramWithoutAName_IsThatOfTheVariableOrAge) {
  AgeProgram program = script("cat \"$folder/key\"");
  const std::string path = program.name;
  program.name = "";
  {
    const ScopedEnvironment variable("PARAES_AGE", path);
    EXPECT_EQ(support::difference(decrypt(program), run_key), "");
  }
  const ScopedEnvironment search("PATH", folder.path() + ":" + std::getenv("PATH"));
  const ScopedEnvironment variable("PARAES_AGE", "");
  EXPECT_EQ(support::difference(decrypt(program), run_key), "");
  const ScopedEnvironment other("PARAES_AGE", "paraes-no-such-age");
  EXPECT_THROW(static_cast<void>(decrypt(program)), Unavailable);
}

TEST_F(Age, WordsOfAProgramThatSucceeds_ArePassedOn) {
  EXPECT_EQ(
      support::difference(
          decrypt("echo one >&2; cat \"$folder/key\"; echo >&2; echo 'two words' >&2"), run_key),
      "");
  EXPECT_EQ(messages, (std::vector<std::string>{"one", "two words"}));
  messages.clear();
  EXPECT_EQ(support::difference(encrypt("cat \"$folder/age-file\"; echo words >&2"), age_file), "");
  EXPECT_EQ(messages, (std::vector<std::string>{"words"}));
}

TEST_F(Age, WordsOfAProgramThatWaits_ArePassedOnMeanwhile) {
  AgeProgram program = script(
      "echo 'touch the key' >&2\n"
      "i=0; while [ ! -e \"$folder/touched\" ] && [ $i -lt 1000 ]; do sleep 0.01; i=$((i + 1)); "
      "done\n"
      "[ -e \"$folder/touched\" ] || exit 1\n"
      "echo thanks >&2\n"
      "cat \"$folder/key\"");
  program.on_message = [&](std::string_view line) {
    messages.emplace_back(line);
    folder.write("touched", std::string());
  };
  EXPECT_EQ(support::difference(decrypt(program), run_key), "");
  EXPECT_EQ(messages, (std::vector<std::string>{"touch the key", "thanks"}));
}

TEST_F(Age, DecryptOfAMalformedAgeFile_StartsNoProgram) {
  const AgeProgram program = script("touch \"$folder/started\"");
  const AgeIdentities identities({folder.path("identities")});
  for (const Buffer& bad : {Buffer{}, Buffer(age_file.begin(), age_file.begin() + 100),
                            support::make_age_file("-> scrypt c2FsdA 18\nQUJD\n")}) {
    EXPECT_THROW(static_cast<void>(identities.decrypt(program, bad)), IntegrityError);
  }
  EXPECT_FALSE(folder.has("started"));
}

TEST_F(Age, Encrypt_ReturnsTheAgeFileThatTheProgramWrites) {
  folder.write("more", std::string("age1y\n"));
  const std::string commands = dump + "cat > \"$folder/input\"\ncat \"$folder/age-file\"";
  EXPECT_EQ(support::difference(encrypt(commands, {.keys = {"age1x", "ssh-ed25519 AAAA"},
                                                   .files = {folder.path("more")}}),
                                age_file),
            "");
  EXPECT_EQ(support::difference(folder.read("input"), run_key), "");
  EXPECT_EQ(arguments(), "-r age1x -r ssh-ed25519 AAAA -R " + folder.path("more") + " ");
  expect_no_secret_in_dump();
  // This works even if the program does not read the key.
  EXPECT_EQ(support::difference(encrypt("cat \"$folder/age-file\""), age_file), "");
}

TEST_F(Age, EncryptThatIsRefused_SaysWhy) {
  EXPECT_TRUE(throws<InvalidArgument>(
      [&] {
        return encrypt("cat \"$folder/age-file\"; echo 'age: error: bad recipient' >&2; exit 1");
      },
      "recipients: bad recipient"));
}

TEST_F(Age, Encrypt_RefusesAnOutputThatIsNoAgeFileOrTooLarge) {
  for (const char* commands :
       {"exit 0", "echo text", "head -c 100 \"$folder/age-file\"",
        // A payload of another size than that of a key.
        "cat \"$folder/age-file\"; echo", "head -c 200 \"$folder/age-file\"",
        "echo '-----BEGIN AGE ENCRYPTED FILE-----'; cat \"$folder/age-file\""}) {
    EXPECT_TRUE(throws<Error>([&] { return encrypt(commands); }, "no age file")) << commands;
  }
  const auto padded = [&](std::size_t bytes) {
    const std::size_t spare = bytes - age_file.size() - std::string("-> \n\n").size();
    const support::Buffer large =
        support::make_age_file(support::x25519_stanza + "-> " + std::string(spare, 'p') + "\n\n");
    EXPECT_EQ(large.size(), bytes);
    folder.write("padded", std::string(large.begin(), large.end()));
    return encrypt("cat \"$folder/padded\"");
  };
  const std::size_t most = max_wrap_bytes - slot_bytes(256);
  EXPECT_EQ(padded(most).size(), most);
  for (const std::size_t bytes : {most + 1, max_wrap_bytes, std::size_t{5000000}}) {
    EXPECT_TRUE(throws<InvalidArgument>([&] { return padded(bytes); }, "too many recipients"));
  }
}

TEST_F(Age, Encrypt_RefusesRecipientsThatAreNone) {
  const std::string touch = "touch \"$folder/started\"";
  for (const char* key : {"", "-", "-i", "AGE-SECRET-KEY-1XYZ", "age-secret-key-1xyz",
                          "AGE-PLUGIN-YUBIKEY-1", "age-plugin-x"}) {
    EXPECT_THROW(static_cast<void>(encrypt(touch, {.keys = {"age1x", key}, .files = {}})),
                 InvalidArgument)
        << key;
  }
  EXPECT_THROW(static_cast<void>(encrypt(touch, {})), InvalidArgument);
  for (const char* file : {"-", ""}) {
    EXPECT_THROW(static_cast<void>(encrypt(touch, {.keys = {"age1x"}, .files = {file}})),
                 InvalidArgument);
  }
  EXPECT_THROW(static_cast<void>(encrypt(touch, {.keys = {}, .files = {folder.path("none")}})),
               IoError);
  EXPECT_THROW(static_cast<void>(encrypt_with_age(script(touch), Bytes(run_key).first(31),
                                                  {.keys = {"age1x"}, .files = {}})),
               InvalidArgument);
  EXPECT_FALSE(folder.has("started"));
}

// Appends the contents of each file of identities to a file.
const std::string read_identities =
    "while [ $# -gt 0 ]; do\n"
    "  if [ \"$1\" = -i ]; then cat \"$2\" >> \"$folder/read\"; shift; fi\n"
    "  shift\n"
    "done\n"
    "cat \"$folder/key\"";

TEST_F(Age, IdentitiesFromFifos_AreReadableInEveryCall) {
  std::vector<std::string> files;
  std::string contents;
  std::vector<std::thread> writers;
  for (const char* name : {"fifo", "other"}) {
    files.push_back(folder.path(name));
    ASSERT_EQ(mkfifo(files.back().c_str(), 0600), 0);
    const std::string identity = "AGE-SECRET-KEY-" + std::string(2000, *name) + "\n";
    contents += identity;
    writers.emplace_back([identity, path = files.back()] { std::ofstream(path) << identity; });
  }
  files.insert(files.begin() + 1, folder.path("identities"));
  contents.insert(contents.size() / 2, "AGE-SECRET-KEY-1\n");
  const AgeIdentities identities(files);
  for (std::thread& writer : writers) writer.join();
  const AgeProgram program = script(dump + read_identities);
  for (int call = 0; call < 3; ++call) {
    EXPECT_EQ(support::difference(identities.decrypt(program, age_file).span(), run_key), "");
    EXPECT_EQ(folder.text("read"), contents);
    fs::remove(folder.path("read"));
    expect_no_secret_in_dump();
  }
}

TEST_F(Age, IdentitiesInAFileWithADashInFront_AreNoFlag) {
  folder.write("-odd", std::string("odd\n"));
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  const AgeIdentities identities({"-odd"});
  const AgeProgram program = script(dump + read_identities);
  EXPECT_EQ(support::difference(identities.decrypt(program, age_file).span(), run_key), "");
  fs::current_path(before);
  EXPECT_EQ(arguments(), "-d -i ./-odd ");
  EXPECT_EQ(folder.text("read"), "odd\n");
}

TEST_F(Age, IdentitiesThatCannotBeRead_AreRefused) {
  const auto make = [](std::vector<std::string> files) {
    static_cast<void>(AgeIdentities(std::move(files)));
  };
  EXPECT_THROW(make({}), InvalidArgument);
  EXPECT_THROW(make({"-"}), InvalidArgument);
  EXPECT_THROW(make({folder.path("identities"), "-"}), InvalidArgument);
  EXPECT_THROW(make({""}), InvalidArgument);
  EXPECT_THROW(make({folder.path()}), InvalidArgument);
  EXPECT_THROW(make({"/dev/null"}), InvalidArgument);  // it is empty
  const auto error = caught<IoError>([&] { make({folder.path("none")}); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ENOENT);
  const std::string fifo = folder.path("fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  for (const std::size_t bytes : {65536U, 65537U}) {
    std::thread writer([&] { std::ofstream(fifo) << std::string(bytes, 'x'); });
    if (bytes == 65536) {
      EXPECT_NO_THROW(make({fifo}));
    } else {
      EXPECT_THROW(make({fifo}), InvalidArgument);
    }
    writer.join();
  }
}

}  // namespace
}  // namespace paraes
