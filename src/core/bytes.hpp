// Loads and stores of integers at any alignment. Plain C++, as counter.hpp is, for tests/proofs.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace paraes {

inline std::uint32_t load_le32(const std::uint8_t* p) noexcept {
  std::uint32_t v;
  std::memcpy(&v, p, 4);
  if (std::endian::native == std::endian::big) v = __builtin_bswap32(v);
  return v;
}

inline std::uint64_t load_le64(const std::uint8_t* p) noexcept {
  std::uint64_t v;
  std::memcpy(&v, p, 8);
  if (std::endian::native == std::endian::big) v = __builtin_bswap64(v);
  return v;
}

inline void store_le32(std::uint8_t* p, std::uint32_t v) noexcept {
  if (std::endian::native == std::endian::big) v = __builtin_bswap32(v);
  std::memcpy(p, &v, 4);
}

inline void store_le64(std::uint8_t* p, std::uint64_t v) noexcept {
  if (std::endian::native == std::endian::big) v = __builtin_bswap64(v);
  std::memcpy(p, &v, 8);
}

inline std::uint32_t load_be32(const std::uint8_t* p) noexcept {
  return __builtin_bswap32(load_le32(p));
}
inline std::uint64_t load_be64(const std::uint8_t* p) noexcept {
  return __builtin_bswap64(load_le64(p));
}
inline void store_be32(std::uint8_t* p, std::uint32_t v) noexcept {
  store_le32(p, __builtin_bswap32(v));
}
inline void store_be64(std::uint8_t* p, std::uint64_t v) noexcept {
  store_le64(p, __builtin_bswap64(v));
}

// Stores two words with one 16-byte store. After two 8-byte stores instead, store-to-load
// forwarding fails for a 16-byte load: it waits until all earlier stores have reached the cache,
// which after a kernel's output takes longer than encrypting a few KiB.
inline void store_le128(std::uint8_t* p, std::uint64_t low, std::uint64_t high) noexcept {
  if (std::endian::native == std::endian::big) {
    low = __builtin_bswap64(low);
    high = __builtin_bswap64(high);
  }
  const std::uint64_t __attribute__((vector_size(16))) pair = {low, high};
  std::memcpy(p, &pair, 16);
}

inline void store_be128(std::uint8_t* p, std::uint64_t high, std::uint64_t low) noexcept {
  store_le128(p, __builtin_bswap64(high), __builtin_bswap64(low));
}

inline void xor_block(std::uint8_t* out, const std::uint8_t* a, const std::uint8_t* b) noexcept {
  std::uint64_t x[2];
  std::uint64_t y[2];
  std::memcpy(x, a, 16);
  std::memcpy(y, b, 16);
  x[0] ^= y[0];
  x[1] ^= y[1];
  std::memcpy(out, x, 16);
}

}  // namespace paraes
