// Random numbers that depend on the seed only, not on the standard library, and a seed.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "paraes/kdf.hpp"

namespace paraes::bench {

// A seed from OpenSSL's generator. With std::random_device, which calls arc4random, executables
// that contain libstdc++ would need glibc 2.36.
[[nodiscard]] inline std::uint32_t random_seed() {
  std::array<std::uint8_t, sizeof(std::uint32_t)> bytes{};
  random_bytes(bytes);
  std::uint32_t seed = 0;
  std::memcpy(&seed, bytes.data(), bytes.size());
  return seed;
}

// SplitMix64 (Steele, Lea, Flood 2014).
constexpr std::uint64_t mix64(std::uint64_t x) noexcept {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(seed) {}

  std::uint64_t next() noexcept {
    const std::uint64_t value = mix64(state_);
    state_ += 0x9e3779b97f4a7c15U;
    return value;
  }

  // Fisher-Yates. The remainder's bias is below 2^-50 for lists of up to 2^14 items.
  template <class T>
  void shuffle(std::vector<T>& items) noexcept {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[next() % i]);
  }

 private:
  std::uint64_t state_;
};

}  // namespace paraes::bench
