// Tests of the command `paraes bench`.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <openssl/crypto.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "bench/file/child.hpp"
#include "tests/gpu/expect_has.hpp"
#include "tests/support/temporary_folder.hpp"

namespace paraes::bench {
namespace {

ChildResult bench(const std::string& arguments) {
  std::vector<std::string> words = {PARAES_PROGRAM, "bench"};
  std::istringstream stream(arguments);
  for (std::string word; stream >> word;) words.push_back(word);
  return run_child(words);
}

nlohmann::json report_in(const support::TemporaryFolder& folder) {
  return nlohmann::json::parse(folder.text("report.json"));
}

TEST(Command, UnknownValuesAreUsageErrors) {
  for (const char* arguments :
       {"--mode cfb", "--kernel fast", "--size 5x", "--size 0", "--rivals botan", "--threads -1",
        "--samples 0", "--key-bits 512", "--scope disk", "--in-place perhaps", "--nonsense"}) {
    const ChildResult result = bench(arguments);
    EXPECT_EQ(result.status, 2) << arguments;
    EXPECT_EQ(result.output.rfind("paraes: ", 0), 0U) << result.output;
  }
}

TEST(Command, ListRunsNothing) {
  const ChildResult result = bench("--list --kernel ttable --mode ctr,xts --key-bits 192");
  EXPECT_EQ(result.status, 0);
  for (const char* part : {"ttable", "8 rows", "XTS has no AES-192"}) {
    EXPECT_HAS(result.output, part);
  }
  EXPECT_LACKS(result.output, "MB/s");
}

TEST(Command, OpensslSpeedHasItsDefaultsInOneTable) {
  const ChildResult list = bench("--openssl-speed --list --kernel ttable");
  EXPECT_EQ(list.status, 0);
  // Two key sizes and six sizes, by paraes and by openssl-evp.
  for (const char* part : {"24 rows", "16 B", "8 KiB", "16 KiB", "gcm", "openssl-evp"}) {
    EXPECT_HAS(list.output, part);
  }
  EXPECT_LACKS(list.output, "ctr");
  const support::TemporaryFolder folder;
  const ChildResult result = bench(
      "--openssl-speed --kernel ttable --mode ctr,xts --key-bits 128 --size 16,64 --samples 2 "
      "--json " +
      folder.path("report.json"));
  ASSERT_EQ(result.status, 0) << result.output;
  for (const char* part : {"The 'numbers' are in 1000s of bytes per second processed.\n",
                           "     16 bytes     64 bytes\n", "\nAES-128-CTR ttable ",
                           "\nAES-128-CTR openssl-evp ", "\nAES-128-XTS ttable "}) {
    EXPECT_HAS(result.output, part);
  }
  const nlohmann::json report = report_in(folder);
  EXPECT_EQ(report["results"].size(), 8U);
  for (const auto& row : report["results"]) EXPECT_TRUE(row["in_place"]) << row;
}

TEST(Command, OpensslSpeedRefusesWhatItsTableCannotShow) {
  for (const char* arguments :
       {"--scope file", "--scope transfer", "--threads 2", "--threads 1,2",
        "--message 64 --mode gcm", "--in-place no,yes", "--quick", "--device cpu,opencl:0"}) {
    const ChildResult result = bench(std::string("--openssl-speed ") + arguments);
    EXPECT_EQ(result.status, 2) << arguments << result.output;
    EXPECT_EQ(result.output.rfind("paraes: --openssl-speed ", 0), 0U) << result.output;
  }
}

TEST(Command, AnotherLibcryptoIsInTheReportWithItsVersion) {
  Dl_info info{};
  ASSERT_NE(dladdr(reinterpret_cast<const void*>(&OpenSSL_version), &info), 0);
  const std::string file = info.dli_fname;
  if (file.find("libcrypto") == std::string::npos) GTEST_SKIP() << "libcrypto is linked statically";
  const support::TemporaryFolder folder;
  const ChildResult result = bench(
      "--kernel ttable --mode gcm --size 1KiB --samples 2 --threads 1,2 --message whole,100 "
      "--rivals openssl-evp@" +
      file + " --json " + folder.path("report.json"));
  if (result.output.find("sanitizer") != std::string::npos) GTEST_SKIP() << result.output;
  ASSERT_EQ(result.status, 0) << result.output;
  const nlohmann::json report = report_in(folder);
  const std::string name = std::string("openssl-evp@") + OpenSSL_version(OPENSSL_VERSION_STRING);
  EXPECT_EQ(report["context"]["libraries"][name], OpenSSL_version(OPENSSL_VERSION));
  unsigned rows = 0;
  for (const auto& row : report["results"]) {
    EXPECT_TRUE(row["verified"]);
    rows += row["rival"] == name ? 1 : 0;
  }
  EXPECT_EQ(rows, 6U);  // one message on two threads is none
}

TEST(Command, TinyRunReportsVerifiedRows) {
  const support::TemporaryFolder folder;
  const ChildResult result =
      bench("--kernel ttable --mode gcm --size 1KiB --samples 3 --in-place --seed 9 --json " +
            folder.path("report.json"));
  EXPECT_EQ(result.status, 0) << result.output;
  EXPECT_HAS(result.output, "MB/s");
  const nlohmann::json json = report_in(folder);
  EXPECT_EQ(json["seed"], 9);
  ASSERT_EQ(json["results"].size(), 4U);
  for (const auto& row : json["results"]) {
    EXPECT_TRUE(row["verified"].get<bool>());
    EXPECT_TRUE(row["in_place"].get<bool>());
    EXPECT_EQ(row["bytes"], 1024);
    EXPECT_EQ(row["samples_ns"].size(), 3U);
    EXPECT_TRUE(row["timeline_ns"]["key_expansion"].is_number());
    EXPECT_EQ(row["timeline_ns"]["kernel"], row["median_ns"]);
    // The kernel phase is the call itself, so it has no samples besides samples_ns.
    EXPECT_EQ(row["timeline_samples_ns"].size(), 1U);
    EXPECT_EQ(row["timeline_samples_ns"]["key_expansion"].size(), 9U);
  }
}

TEST(Command, UnwritableReportIsFoundBeforeMeasuring) {
  const ChildResult result = bench("--kernel ttable --size 1KiB --json /nonexistent/report.json");
  EXPECT_EQ(result.status, 1);
  EXPECT_LACKS(result.output, "MB/s");
}

TEST(Command, FilesAreVerifiedAndRemoved) {
  const support::TemporaryFolder folder;
  const std::string files = folder.path("files");
  std::filesystem::create_directory(files);
  const ChildResult result = bench(
      "--scope file --format raw --kernel ttable --mode ecb,ctr,xts --size 64KiB --samples 2 "
      "--rivals openssl-enc,cp,copy-threads --dir " +
      files + " --json " + folder.path("report.json"));
  EXPECT_EQ(result.status, 0) << result.output;
  const nlohmann::json json = report_in(folder);
  unsigned ours = 0;
  for (const auto& row : json["results"]) {
    EXPECT_TRUE(row["verified"].get<bool>()) << row.dump();
    EXPECT_EQ(row["scope"], "file");
    if (!row["rival"].is_null()) {
      EXPECT_TRUE(row["timeline_samples_ns"].empty());
      continue;
    }
    ++ours;
    for (const char* phase : {"read", "key_expansion", "kernel", "write"}) {
      EXPECT_EQ(row["timeline_samples_ns"][phase].size(), row["samples_ns"].size()) << phase;
    }
  }
  EXPECT_EQ(ours, 6U);
  EXPECT_TRUE(std::filesystem::is_empty(files));
}

}  // namespace
}  // namespace paraes::bench
