// The nonce of a segment as two words. Plain C++, so that the tests in tests/proofs can prove it.
#pragma once

#include <bit>
#include <cstdint>

#include "src/core/bytes.hpp"

namespace paraes {
namespace detail {

// `words` becomes the nonce and four zeros, in the order of memory. A kernel loads words: its load
// cannot be forwarded from smaller stores. counted: the base nonce XOR the index; else the first 7
// bytes of the base nonce, the index, which is less than 2^32, and whether the segment is the last.
inline void set_nonce_words(std::uint64_t words[2], const std::uint8_t base[12], bool counted,
                            std::uint64_t index, bool last) noexcept {
  std::uint64_t first = load_le64(base);
  std::uint64_t rest = load_le32(base + 8);
  const std::uint32_t high = static_cast<std::uint32_t>(index >> 32);
  const std::uint32_t low = static_cast<std::uint32_t>(index & 0xffffffff);
  if (counted) {
    first ^= static_cast<std::uint64_t>(__builtin_bswap32(high)) << 32;
    rest ^= __builtin_bswap32(low);
  } else {
    // The index begins with the last byte of the first word.
    const std::uint64_t prefix = 0x00ffffffffffffff;
    first = (first & prefix) | (static_cast<std::uint64_t>(low >> 24) << 56);
    rest = (__builtin_bswap32(low) >> 8) | (last ? 0x01000000 : 0);
  }
  if (std::endian::native == std::endian::big) {
    first = __builtin_bswap64(first);
    rest = __builtin_bswap64(rest);
  }
  words[0] = first;
  words[1] = rest;
}

}  // namespace detail
}  // namespace paraes
