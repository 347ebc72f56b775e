// Finds the published test vectors and reads CAVP's response files.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace paraes::conformance {

// PARAES_VECTOR_ROOT, or build/vectors in the source tree.
[[nodiscard]] std::filesystem::path vector_root();

// Empty if `path` exists below the root, else a message that says what to run. The caller then
// skips the test, or fails it if vectors_required().
[[nodiscard]] std::string why_missing(const std::filesystem::path& path);

// Whether PARAES_REQUIRE_VECTORS is 1.
[[nodiscard]] bool vectors_required();

// One case of a CAVP response file. Names of fields are in lower case.
struct Record {
  std::string section;  // "ENCRYPT" or "DECRYPT", where the file says so
  std::map<std::string, std::string> fields;
  std::string where;  // file and line, for messages

  [[nodiscard]] bool has(const std::string& name) const { return fields.count(name) != 0; }
  [[nodiscard]] const std::string& text(const std::string& name) const;
  [[nodiscard]] std::vector<std::uint8_t> bytes(const std::string& name) const;
};

// Every case of a .rsp file, in order. A line without "=", such as FAIL, is a field without value.
[[nodiscard]] std::vector<Record> read_response_file(const std::filesystem::path& path);

// The files in `folder` and below it whose names end in `extension`, sorted.
[[nodiscard]] std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder,
                                                          const std::string& extension);

}  // namespace paraes::conformance

// For SetUp or a test. If `path` is missing, skips the test, or fails it if vectors are required.
#define PARAES_NEED_VECTORS(path)                                                               \
  if (const std::string missing = ::paraes::conformance::why_missing(path); !missing.empty()) { \
    if (::paraes::conformance::vectors_required()) FAIL() << missing;                           \
    GTEST_SKIP() << missing;                                                                    \
  }                                                                                             \
  static_assert(true, "a semicolon follows")
