// Loads and stores of words (src/core/bytes.hpp) against sums of bytes.
// Bounds: none. All contents, in both orders of bytes in memory.

#include "src/core/bytes.hpp"

#include "tests/proofs/proof.hpp"

// The word of `count` bytes whose lowest byte is the first one.
static std::uint64_t word_of(const std::uint8_t* bytes, unsigned count) {
  std::uint64_t word = 0;
  for (unsigned i = 0; i < count; ++i) word |= static_cast<std::uint64_t>(bytes[i]) << (8 * i);
  return word;
}

// The same, of the bytes in reverse.
static std::uint64_t reverse_word_of(const std::uint8_t* bytes, unsigned count) {
  std::uint64_t word = 0;
  for (unsigned i = 0; i < count; ++i) word = (word << 8) | bytes[i];
  return word;
}

void prove_loads() {
  std::uint8_t bytes[8];
  any_bytes(bytes, 8);
  CHECK(paraes::load_le32(bytes) == word_of(bytes, 4));
  CHECK(paraes::load_be32(bytes) == reverse_word_of(bytes, 4));
  CHECK(paraes::load_le64(bytes) == word_of(bytes, 8));
  CHECK(paraes::load_be64(bytes) == reverse_word_of(bytes, 8));
}

void prove_stores() {
  const std::uint32_t half = any_32();
  const std::uint64_t word = any_64();
  const std::uint64_t other = any_64();
  std::uint8_t to[16];
  paraes::store_le32(to, half);
  CHECK(word_of(to, 4) == half);
  paraes::store_be32(to, half);
  CHECK(reverse_word_of(to, 4) == half);
  paraes::store_le64(to, word);
  CHECK(word_of(to, 8) == word);
  paraes::store_be64(to, word);
  CHECK(reverse_word_of(to, 8) == word);
  paraes::store_le128(to, word, other);
  CHECK(word_of(to, 8) == word && word_of(to + 8, 8) == other);
  paraes::store_be128(to, word, other);
  CHECK(reverse_word_of(to, 8) == word && reverse_word_of(to + 8, 8) == other);
}
