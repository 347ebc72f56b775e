// NIST's CAVP by the C API, with the kernel that it selects.

#include <gtest/gtest.h>

#include "tests/c/c_api.hpp"
#include "tests/conformance/cavp.hpp"
#include "tests/support/buffers.hpp"

namespace paraes::conformance {
namespace {

using support::difference;

class CavpByC : public testing::Test {
 protected:
  void SetUp() override { PARAES_NEED_VECTORS(cavp_folder); }
};

TEST_F(CavpByC, Ecb_Matches2138Cases) {
  for_each_case(ecb_files, [&](const Record& r, const std::string&) {
    const auto key = support::new_block(r.bytes("key"));
    const auto encrypt = [&](Bytes in, MutableBytes out) {
      ASSERT_DONE(paraes_ecb_encrypt(key.get(), in.data(), in.size(), out.data()));
    };
    const auto decrypt = [&](Bytes in, MutableBytes out) {
      ASSERT_DONE(paraes_ecb_decrypt(key.get(), in.data(), in.size(), out.data()));
    };
    check_section(r, r.bytes("plaintext"), r.bytes("ciphertext"), encrypt, decrypt);
  });
}

TEST_F(CavpByC, Cbc_Matches2138Cases) {
  for_each_case(cbc_files, [&](const Record& r, const std::string&) {
    const Buffer iv = r.bytes("iv");
    const auto key = support::new_block(r.bytes("key"));
    const auto encrypt = [&](Bytes in, MutableBytes out) {
      ASSERT_DONE(paraes_cbc_encrypt(key.get(), iv.data(), in.data(), in.size(), out.data()));
    };
    const auto decrypt = [&](Bytes in, MutableBytes out) {
      ASSERT_DONE(paraes_cbc_decrypt(key.get(), iv.data(), in.data(), in.size(), out.data()));
    };
    check_section(r, r.bytes("plaintext"), r.bytes("ciphertext"), encrypt, decrypt);
  });
}

TEST_F(CavpByC, Ctr_Matches9Cases) {
  for_each_case(ctr_files, [&](const Record& r, const std::string&) {
    const Buffer counter = r.bytes("iv");
    const auto key = support::new_block(r.bytes("key"));
    const auto process = [&](Bytes in, MutableBytes out) {
      ASSERT_DONE(paraes_ctr(key.get(), counter.data(), 0, in.data(), in.size(), out.data()));
    };
    check_both_directions(r, r.bytes("plaintext"), r.bytes("ciphertext"), process, process);
  });
}

TEST_F(CavpByC, Xts_Matches2800Cases) {
  for_each_case(xts_files, [&](const Record& r, const std::string&) {
    const Buffer tweak = tweak_of(r);
    const auto key = support::new_xts(r.bytes("key"), 0);
    const auto encrypt = [&](Bytes in, MutableBytes out) {
      ASSERT_DONE(paraes_xts_encrypt(key.get(), tweak.data(), in.data(), in.size(), out.data()));
    };
    const auto decrypt = [&](Bytes in, MutableBytes out) {
      ASSERT_DONE(paraes_xts_decrypt(key.get(), tweak.data(), in.data(), in.size(), out.data()));
    };
    check_section(r, r.bytes("pt"), r.bytes("ct"), encrypt, decrypt);
  });
}

TEST_F(CavpByC, Gcm_Matches47250Cases) {
  std::size_t refused = 0;
  for_each_case(gcm_files, [&](const Record& r, const std::string& file) {
    const Buffer nonce = r.bytes("iv");
    const Buffer aad = r.bytes("aad");
    const Buffer cipher = r.bytes("ct");
    const Buffer tag = r.bytes("tag");
    const auto gcm = support::new_gcm(r.bytes("key"));
    Buffer out(cipher);
    const int code =
        paraes_gcm_decrypt(gcm.get(), nonce.data(), nonce.size(), aad.data(), aad.size(),
                           out.data(), out.size(), out.data(), tag.data(), tag.size());
    if (file.starts_with("gcmDecrypt") && r.has("fail")) {
      ++refused;
      ASSERT_TRUE(support::failed_with(PARAES_INTEGRITY_ERROR, code)) << r.where;
      ASSERT_EQ(out, Buffer(out.size())) << r.where << ": the output is not all zero";
      return;
    }
    ASSERT_DONE(code) << r.where;
    ASSERT_EQ(difference(out, r.bytes("pt")), "") << r.where;
    if (nonce.size() >= 8) {  // shorter ones are only for decryption
      Buffer full(16);
      ASSERT_DONE(paraes_gcm_encrypt(gcm.get(), nonce.data(), nonce.size(), aad.data(), aad.size(),
                                     out.data(), out.size(), out.data(), full.data()));
      ASSERT_EQ(difference(out, cipher), "") << r.where;
      ASSERT_EQ(difference(Bytes(full).first(tag.size()), tag), "") << r.where << ", tag";
    }
  });
  if (!HasFatalFailure()) {
    EXPECT_GT(refused, 5000U);
  }
}

}  // namespace
}  // namespace paraes::conformance
