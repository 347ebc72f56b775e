// A program that uses libparaes-dev: encrypts the example of FIPS 197, appendix C.1, and prints it.

#include <array>
#include <cstdint>
#include <cstdio>

#include "paraes/ciphers.hpp"

int main() {
  std::array<std::uint8_t, 16> key = {};
  std::array<std::uint8_t, 16> block = {};
  for (std::uint8_t i = 0; i < 16; ++i) {
    key[i] = i;
    block[i] = static_cast<std::uint8_t>(i * 0x11);
  }
  paraes::Ecb cipher(key);
  cipher.encrypt(block, block);
  for (const std::uint8_t byte : block) std::printf("%02x", byte);
  std::puts("");
  return 0;
}
