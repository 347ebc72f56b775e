// Counter blocks: 128-bit big-endian (CTR), the low 32 bits alone (GCM), 128-bit little-endian
// (XTS data unit numbers).
#pragma once

#include <cstdint>

#include "src/core/bytes.hpp"

namespace paraes {

// counter += n modulo 2^128, big-endian.
inline void add_be128(std::uint8_t counter[16], std::uint64_t n) noexcept {
  const std::uint64_t low = load_be64(counter + 8);
  const std::uint64_t sum = low + n;
  store_be128(counter, load_be64(counter) + (sum < low ? 1 : 0), sum);
}

// counter += n modulo 2^128, little-endian.
inline void add_le128(std::uint8_t counter[16], std::uint64_t n) noexcept {
  const std::uint64_t low = load_le64(counter);
  const std::uint64_t sum = low + n;
  store_le128(counter, sum, load_le64(counter + 8) + (sum < low ? 1 : 0));
}

// inc32 of SP 800-38D section 6.2, n times: the low 32 bits wrap, the rest stays.
inline void add_be32(std::uint8_t counter[16], std::uint32_t n) noexcept {
  const std::uint64_t low = load_be64(counter + 8);
  const std::uint32_t sum = static_cast<std::uint32_t>(low) + n;
  store_be128(counter, load_be64(counter), (low & 0xffffffff00000000) | sum);
}

}  // namespace paraes
