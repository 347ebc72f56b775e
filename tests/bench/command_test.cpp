// Tests of the command `paraes bench`.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <openssl/crypto.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/file/child.hpp"

namespace paraes::bench {
namespace {

ChildResult bench(const std::string& arguments) {
  std::vector<std::string> words = {PARAES_PROGRAM, "bench"};
  std::istringstream stream(arguments);
  for (std::string word; stream >> word;) words.push_back(word);
  return run_child(words);
}

// A folder for one test, since tests run in parallel.
class Folder {
 public:
  Folder() : path_(::testing::TempDir() + "paraes-bench-XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error("cannot make " + path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string report() const { return path_ + "/report.json"; }
  [[nodiscard]] nlohmann::json read_report() const {
    std::ifstream file(report());
    return nlohmann::json::parse(file);
  }

 private:
  std::string path_;
};

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
  EXPECT_NE(result.output.find("ttable"), std::string::npos);
  EXPECT_NE(result.output.find("8 rows"), std::string::npos) << result.output;
  EXPECT_NE(result.output.find("XTS has no AES-192"), std::string::npos) << result.output;
  EXPECT_EQ(result.output.find("MB/s"), std::string::npos);
}

TEST(Command, AnotherLibcryptoIsInTheReportWithItsVersion) {
  Dl_info info{};
  ASSERT_NE(dladdr(reinterpret_cast<const void*>(&OpenSSL_version), &info), 0);
  const std::string file = info.dli_fname;
  if (file.find("libcrypto") == std::string::npos) GTEST_SKIP() << "libcrypto is linked statically";
  const Folder folder;
  const ChildResult result = bench(
      "--kernel ttable --mode gcm --size 1KiB --samples 2 --threads 1,2 --message whole,100 "
      "--rivals openssl-evp@" +
      file + " --json " + folder.report());
  if (result.output.find("sanitizer") != std::string::npos) GTEST_SKIP() << result.output;
  ASSERT_EQ(result.status, 0) << result.output;
  const nlohmann::json report = folder.read_report();
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
  const Folder folder;
  const ChildResult result =
      bench("--kernel ttable --mode gcm --size 1KiB --samples 3 --in-place --seed 9 --json " +
            folder.report());
  EXPECT_EQ(result.status, 0) << result.output;
  EXPECT_NE(result.output.find("MB/s"), std::string::npos);
  const nlohmann::json json = folder.read_report();
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
  EXPECT_EQ(result.output.find("MB/s"), std::string::npos);
}

TEST(Command, FilesAreVerifiedAndRemoved) {
  const Folder folder;
  const std::string files = folder.path() + "/files";
  std::filesystem::create_directory(files);
  const ChildResult result = bench(
      "--scope file --format raw --kernel ttable --mode ecb,ctr,xts --size 64KiB --samples 2 "
      "--rivals openssl-enc,cp,copy-threads --dir " +
      files + " --json " + folder.report());
  EXPECT_EQ(result.status, 0) << result.output;
  const nlohmann::json json = folder.read_report();
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
