// The response files of NIST's CAVP in the PyPI package cryptography-vectors, case by case.
#pragma once

#include <gtest/gtest.h>

#include <functional>

#include "tests/conformance/vectors.hpp"
#include "tests/support/buffers.hpp"

namespace paraes::conformance {

using Buffer = std::vector<std::uint8_t>;

inline const std::filesystem::path cavp_folder = "cryptography_vectors/ciphers/AES";

struct ModeFiles {
  const char* folder;
  const char* extension;
  std::size_t cases;
  std::size_t not_applicable;  // data units that are not a whole number of bytes
};
inline constexpr ModeFiles ecb_files = {"ECB", ".rsp", 2138, 0};
inline constexpr ModeFiles cbc_files = {"CBC", ".rsp", 2138, 0};
inline constexpr ModeFiles ctr_files = {"CTR", ".txt", 9, 0};
inline constexpr ModeFiles gcm_files = {"GCM", ".rsp", 47250, 0};
inline constexpr ModeFiles xts_files = {"XTS", ".rsp", 2800, 1200};

inline bool is_applicable(const Record& record) {
  return !record.has("dataunitlen") || std::stoul(record.text("dataunitlen")) % 8 == 0;
}

// Calls `body` for every applicable case of the mode, until one has a fatal failure.
inline void for_each_case(const ModeFiles& mode,
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
inline void check_both_directions(const Record& record, const Buffer& in, const Buffer& expected,
                                  const Process& forward, const Process& backward) {
  Buffer out(in.size());
  forward(in, out);
  ASSERT_EQ(support::difference(out, expected), "") << record.where;
  backward(out, out);
  ASSERT_EQ(support::difference(out, in), "") << record.where << ", other direction";
}

// In the direction of the section first.
inline void check_section(const Record& record, const Buffer& plain, const Buffer& cipher,
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
inline Buffer tweak_of(const Record& record) {
  if (record.has("i")) return record.bytes("i");
  Buffer tweak(16);
  std::uint64_t number = std::stoull(record.text("dataunitseqnumber"));
  for (std::size_t i = 0; i < 8; ++i, number >>= 8) tweak[i] = static_cast<std::uint8_t>(number);
  return tweak;
}

}  // namespace paraes::conformance
