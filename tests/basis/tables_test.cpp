// The entries of the tables that kernels look up, each against the definition of FIPS 197 or
// SP 800-38D. The tables of the kernel `ttable` are constants of its file, which is therefore part
// of this program.

#include <gtest/gtest.h>

#include "src/kernels/ttable/ttable.cpp"  // NOLINT(bugprone-suspicious-include)
#include "tests/basis/fips197.hpp"

namespace paraes {
namespace {

using basis::substitution;

TEST(Tables, SBoxesAreThoseOfFips197) {
  for (unsigned x = 0; x < 256; ++x) {
    ASSERT_EQ(sbox[x], substitution().box[x]) << x;
    ASSERT_EQ(inverse_sbox[x], substitution().inverse[x]) << x;
  }
}

// Table r has what byte x in row r adds to a column.
TEST(Tables, RoundTablesAreSubstitutedColumnsOfTheMatrices) {
  for (unsigned x = 0; x < 256; ++x) {
    for (unsigned r = 0; r < 4; ++r) {
      basis::Block in{};
      in[r] = substitution().box[x];
      const basis::Block mixed = basis::mix_columns(in);
      ASSERT_EQ(te[r][x], load_le32(mixed.data())) << r << ", " << x;
      in[r] = substitution().inverse[x];
      const basis::Block inverse = basis::inverse_mix_columns(in);
      ASSERT_EQ(td[r][x], load_le32(inverse.data())) << r << ", " << x;
    }
  }
}

// What the four lowest bits add when an element is multiplied by x^4.
TEST(Tables, ReductionOfEveryFourBits) {
  for (unsigned n = 0; n < 16; ++n) {
    basis::Element v{0, n};
    for (int i = 0; i < 4; ++i) v = basis::times_x(v);
    ASSERT_EQ(reduction[n], v.high) << n;
    ASSERT_EQ(v.low, 0U) << n;
  }
}

// The multiples of H that GHASH looks up, for H of a basis.
TEST(Tables, MultiplesOfHashKeysOfABasis) {
  for (unsigned bit = 0; bit < 128; ++bit) {
    const basis::Block h = basis::unit(bit);
    GhashKey key;
    ghash_init(key, h.data());
    Element entries[16];
    std::memcpy(entries, key.powers, sizeof entries);
    for (unsigned n = 0; n < 16; ++n) {
      // The highest bit of a nibble is the lowest power of x.
      const basis::Element factor{std::uint64_t{n} << 60, 0};
      const basis::Element expected = basis::product(factor, basis::element_of(h));
      ASSERT_EQ(entries[n].high, expected.high) << bit << ", " << n;
      ASSERT_EQ(entries[n].low, expected.low) << bit << ", " << n;
    }
  }
}

}  // namespace
}  // namespace paraes
