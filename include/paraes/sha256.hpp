// Incremental SHA-256 (FIPS 180-4), computed by libcrypto. Functions throw Error if that fails.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "paraes/export.hpp"

namespace paraes {

class PARAES_EXPORT Sha256 {
 public:
  using Digest = std::array<std::uint8_t, 32>;

  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  // Adds `bytes` bytes at `data`.
  Sha256& add(const void* data, std::size_t bytes);

  // Adds the length of `part` (8 bytes in the byte order of this machine) and then the part itself,
  // so that different lists of parts have different digests.
  Sha256& add_part(std::string_view part);

  // The digest of everything added. Call it once; the object cannot be used afterwards.
  [[nodiscard]] Digest digest();

 private:
  class PARAES_HIDDEN State;
  std::unique_ptr<State> state_;
};

}  // namespace paraes
