// Nonces of segments (src/cipher/segment_nonce.hpp) against docs/formats.md, byte by byte.
// Bounds: none. All base nonces, all indexes of 64 bits (32 for Tink).

#include "src/cipher/segment_nonce.hpp"

#include "tests/proofs/proof.hpp"

// Byte i of the nonce is byte i of the base, XOR the index as a big-endian integer of 12 bytes.
void prove_counted_nonce() {
  std::uint8_t base[12];
  any_bytes(base, 12);
  const std::uint64_t index = any_64();
  std::uint64_t words[2];
  paraes::detail::set_nonce_words(words, base, true, index, any_bool());
  std::uint8_t nonce[16];
  std::memcpy(nonce, words, 16);
  for (unsigned i = 0; i < 12; ++i) {
    const unsigned of_index = i < 4 ? 0 : static_cast<unsigned>(index >> (8 * (11 - i)) & 0xff);
    CHECK(nonce[i] == (base[i] ^ of_index));
  }
  for (unsigned i = 12; i < 16; ++i) CHECK(nonce[i] == 0);
}

// 7 bytes of the base, the index in 4, and whether the segment is the last one.
void prove_prefixed_nonce() {
  std::uint8_t base[12];
  any_bytes(base, 12);
  const std::uint32_t index = any_32();
  const bool last = any_bool();
  std::uint64_t words[2];
  paraes::detail::set_nonce_words(words, base, false, index, last);
  std::uint8_t nonce[16];
  std::memcpy(nonce, words, 16);
  for (unsigned i = 0; i < 7; ++i) CHECK(nonce[i] == base[i]);
  for (unsigned i = 7; i < 11; ++i) CHECK(nonce[i] == (index >> (8 * (10 - i)) & 0xff));
  CHECK(nonce[11] == (last ? 1 : 0));
  for (unsigned i = 12; i < 16; ++i) CHECK(nonce[i] == 0);
}
