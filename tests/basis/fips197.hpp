// AES as FIPS 197 defines it, and multiplication as SP 800-38D does, for comparison: nothing here
// is the library's. The S-box comes from a search for inverses, MixColumns from its matrix.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "tests/support/spec.hpp"

namespace paraes::basis {

using support::Block;

// Section 4.2: polynomials over GF(2), modulo x^8 + x^4 + x^3 + x + 1.
constexpr std::uint8_t times(unsigned a, unsigned b) {
  unsigned product = 0;
  for (unsigned i = 0; i < 8; ++i) product ^= (b >> i & 1) != 0 ? a << i : 0;
  for (unsigned i = 15; i >= 8; --i) product ^= (product >> i & 1) != 0 ? 0x11bU << (i - 8) : 0;
  return static_cast<std::uint8_t>(product);
}

// Section 5.1.1.
constexpr std::uint8_t substituted(unsigned a) {
  unsigned inverse = 0;
  for (unsigned b = 1; b < 256 && a != 0; ++b) {
    if (times(a, b) == 1) inverse = b;
  }
  unsigned result = 0;
  for (unsigned i = 0; i < 8; ++i) {
    unsigned bit = 0x63U >> i;
    for (const unsigned k : {0U, 4U, 5U, 6U, 7U}) bit ^= inverse >> ((i + k) % 8);
    result |= (bit & 1) << i;
  }
  return static_cast<std::uint8_t>(result);
}

struct Substitution {
  std::array<std::uint8_t, 256> box{};
  std::array<std::uint8_t, 256> inverse{};

  Substitution() {
    for (unsigned a = 0; a < 256; ++a) {
      box[a] = substituted(a);
      inverse[box[a]] = static_cast<std::uint8_t>(a);
    }
  }
};

inline const Substitution& substitution() {
  static const Substitution tables;
  return tables;
}

inline void add(Block& a, const Block& b) {
  for (unsigned i = 0; i < 16; ++i) a[i] ^= b[i];
}

// Byte r + 4 c is row r, column c (section 3.4).
inline Block sub_bytes(Block s) {
  for (std::uint8_t& b : s) b = substitution().box[b];
  return s;
}

inline Block inverse_sub_bytes(Block s) {
  for (std::uint8_t& b : s) b = substitution().inverse[b];
  return s;
}

// Moves row r to the left by `places` r columns.
inline Block shifted_rows(const Block& s, unsigned places) {
  Block t;
  for (unsigned c = 0; c < 4; ++c) {
    for (unsigned r = 0; r < 4; ++r) t[r + 4 * c] = s[r + 4 * ((c + places * r) % 4)];
  }
  return t;
}

inline Block shift_rows(const Block& s) { return shifted_rows(s, 1); }
// Back to the right: three columns to the left are one to the right.
inline Block inverse_shift_rows(const Block& s) { return shifted_rows(s, 3); }

// Multiplies each column by the circulant matrix with this first row (sections 5.1.3 and 5.3.3).
inline Block times_matrix(const Block& s, const std::array<std::uint8_t, 4>& row) {
  static const auto products = [] {
    std::array<std::array<std::uint8_t, 256>, 16> table{};
    for (unsigned a = 0; a < 16; ++a) {
      for (unsigned b = 0; b < 256; ++b) table[a][b] = times(a, b);
    }
    return table;
  }();
  Block t{};
  for (unsigned c = 0; c < 16; c += 4) {
    for (unsigned r = 0; r < 4; ++r) {
      for (unsigned k = 0; k < 4; ++k) t[c + r] ^= products[row[(k + 4 - r) % 4]][s[c + k]];
    }
  }
  return t;
}

inline Block mix_columns(const Block& s) { return times_matrix(s, {2, 3, 1, 1}); }
inline Block inverse_mix_columns(const Block& s) { return times_matrix(s, {14, 11, 13, 9}); }

using RoundKeys = std::vector<Block>;

// The state before SubBytes of round `last`, from that of round `first`: rounds as in section 5.1,
// of which only that of the last key leaves MixColumns out. Round 0 only adds its key.
inline Block round_of(const Block& s, const RoundKeys& keys, std::size_t round) {
  Block t = shift_rows(sub_bytes(s));
  if (round + 1 != keys.size()) t = mix_columns(t);
  add(t, keys[round]);
  return t;
}

inline Block inverse_round_of(Block s, const RoundKeys& keys, std::size_t round) {
  add(s, keys[round]);
  if (round + 1 != keys.size()) s = inverse_mix_columns(s);
  return inverse_sub_bytes(inverse_shift_rows(s));
}

// As many rounds as there are keys, less one.
inline Block encrypted(Block s, const RoundKeys& keys) {
  add(s, keys[0]);
  for (std::size_t r = 1; r < keys.size(); ++r) s = round_of(s, keys, r);
  return s;
}

inline Block decrypted(Block s, const RoundKeys& keys) {
  for (std::size_t r = keys.size() - 1; r != 0; --r) s = inverse_round_of(s, keys, r);
  add(s, keys[0]);
  return s;
}

// KeyExpansion (section 5.2): the words of the round keys one after the other.
using Word = std::array<std::uint8_t, 4>;

struct Expansion {
  unsigned nk;  // words of the key
  std::vector<Word> words;

  // What word i adds to word i - nk.
  [[nodiscard]] Word addend(std::size_t i) const {
    Word t = words[i - 1];
    if (i % nk == 0) {
      t = {t[1], t[2], t[3], t[0]};
      for (std::uint8_t& b : t) b = substitution().box[b];
      std::uint8_t constant = 1;
      for (std::size_t n = 1; n < i / nk; ++n) constant = times(constant, 2);
      t[0] ^= constant;
    } else if (nk == 8 && i % nk == 4) {
      for (std::uint8_t& b : t) b = substitution().box[b];
    }
    return t;
  }

  void add_addend(std::size_t to, std::size_t from, std::size_t i) {
    const Word t = addend(i);
    for (unsigned b = 0; b < 4; ++b) {
      words[to][b] = static_cast<std::uint8_t>(words[from][b] ^ t[b]);
    }
  }

  [[nodiscard]] RoundKeys round_keys() const {
    RoundKeys keys(words.size() / 4);
    for (std::size_t i = 0; i < words.size(); ++i) {
      for (unsigned b = 0; b < 4; ++b) keys[i / 4][4 * (i % 4) + b] = words[i][b];
    }
    return keys;
  }

  [[nodiscard]] std::vector<std::uint8_t> key() const {
    std::vector<std::uint8_t> bytes;
    for (unsigned i = 0; i < nk; ++i) bytes.insert(bytes.end(), words[i].begin(), words[i].end());
    return bytes;
  }
};

// The expansion in which the words from `at` on are these, as many as a key has. Each word and the
// ones before it determine the word nk before, so there is exactly one.
inline Expansion expansion_with(std::span<const Word> given, std::size_t at) {
  const auto nk = static_cast<unsigned>(given.size());
  Expansion e{nk, std::vector<Word>(4 * (nk + 7))};
  for (std::size_t i = 0; i < nk; ++i) e.words[at + i] = given[i];
  for (std::size_t i = at; i-- > 0;) e.add_addend(i, i + nk, i + nk);
  for (std::size_t i = at + nk; i < e.words.size(); ++i) e.add_addend(i, i - nk, i);
  return e;
}

// ---- Random input, the same in every run

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  std::uint64_t word() { return engine_(); }

  Block block() {
    Block b;
    for (unsigned i = 0; i < 16; i += 8) {
      const std::uint64_t w = engine_();
      for (unsigned k = 0; k < 8; ++k) b[i + k] = static_cast<std::uint8_t>(w >> 8 * k);
    }
    return b;
  }

  std::vector<Block> blocks(std::size_t count) {
    std::vector<Block> all(count);
    for (Block& b : all) b = block();
    return all;
  }

  std::vector<Word> words(std::size_t count) {
    std::vector<Word> all(count);
    for (Word& w : all) {
      const std::uint64_t r = engine_();
      for (unsigned k = 0; k < 4; ++k) w[k] = static_cast<std::uint8_t>(r >> 8 * k);
    }
    return all;
  }

 private:
  std::mt19937_64 engine_;
};

// The block with a single bit. Bit 0 is the highest of byte 0: the coefficient of x^0 in GHASH.
inline Block unit(unsigned bit) {
  Block b{};
  b[bit / 8] = static_cast<std::uint8_t>(0x80U >> bit % 8);
  return b;
}

constexpr std::size_t single_bytes = 16 * 256;  // each byte of a block with each value

// `base` with each value added to each byte, by byte and value.
inline std::vector<Block> with_single_bytes(const Block& base) {
  std::vector<Block> blocks(single_bytes, base);
  for (std::size_t i = 0; i < single_bytes; ++i) {
    blocks[i][i / 256] ^= static_cast<std::uint8_t>(i % 256);
  }
  return blocks;
}

// ---- GHASH

// An element of the field of SP 800-38D in words: the highest bit of `high` is the coefficient of
// x^0.
struct Element {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  bool operator==(const Element&) const = default;
  Element operator^(const Element& b) const { return {high ^ b.high, low ^ b.low}; }
};

constexpr Element one{std::uint64_t{1} << 63, 0};

inline Element element_of(const Block& b) {
  Element a;
  for (unsigned i = 0; i < 8; ++i) a.high = a.high << 8 | b[i];
  for (unsigned i = 8; i < 16; ++i) a.low = a.low << 8 | b[i];
  return a;
}

inline Block block_of(Element a) {
  Block b;
  for (unsigned i = 16; i-- > 0;) {
    b[i] = static_cast<std::uint8_t>(a.low);
    a.low = a.low >> 8 | a.high << 56;
    a.high >>= 8;
  }
  return b;
}

// V_(i + 1) of algorithm 1 (section 6.3).
inline Element times_x(Element v) {
  const std::uint64_t falls_off = v.low & 1;
  v.low = v.low >> 1 | v.high << 63;
  v.high = v.high >> 1 ^ (falls_off != 0 ? std::uint64_t{0xe1} << 56 : 0);
  return v;
}

// Algorithm 1.
inline Element product(Element x, Element y) {
  Element z;
  for (unsigned i = 0; i < 128; ++i) {
    const std::uint64_t bit = (i < 64 ? x.high >> (63 - i) : x.low >> (127 - i)) & 1;
    z.high ^= y.high & (0 - bit);
    z.low ^= y.low & (0 - bit);
    y = times_x(y);
  }
  return z;
}

// The rank over GF(2) of these elements as vectors of 128 bits.
inline unsigned rank_of(std::vector<Element> rows) {
  unsigned rank = 0;
  for (unsigned bit = 0; bit < 128; ++bit) {
    const auto has = [&](const Element& e) {
      return ((bit < 64 ? e.high >> (63 - bit) : e.low >> (127 - bit)) & 1) != 0;
    };
    std::size_t pivot = rank;
    while (pivot < rows.size() && !has(rows[pivot])) ++pivot;
    if (pivot == rows.size()) continue;
    std::swap(rows[pivot], rows[rank]);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (i != rank && has(rows[i])) rows[i] = rows[i] ^ rows[rank];
    }
    ++rank;
  }
  return rank;
}

}  // namespace paraes::basis
