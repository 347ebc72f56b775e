// SHA-256 (FIPS 180-4) of what comes in parts, computed by libcrypto.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

struct evp_md_ctx_st;

namespace paraes {

class Sha256 {
 public:
  using Digest = std::array<std::uint8_t, 32>;

  Sha256();  // throws Error if libcrypto has no SHA-256
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  Sha256& add(const void* data, std::size_t bytes);

  // Adds the length of `part` (8 bytes) before the part itself, so that no two lists of parts have
  // the same digest.
  Sha256& add_part(std::string_view part);

  // Of everything added; afterwards the object is used up.
  [[nodiscard]] Digest digest();

 private:
  evp_md_ctx_st* context_;
};

}  // namespace paraes
