// Carry-less products by integers (src/core/carryless.hpp) against sums of shifts.
// Bounds: the bits of one factor are in the places PARAES_A + 4 i, those of the other one in
// PARAES_B + 4 i, because a sum of several integer products is too much for a SAT solver. table.py
// has all sixteen pairs. carryless_low splits its operands into such factors, and adds the products
// by XOR.

#include "src/core/carryless.hpp"

#include "tests/proofs/proof.hpp"

static std::uint64_t any_in_places(unsigned first) {
  return any_64() & (static_cast<std::uint64_t>(0x1111111111111111) << first);
}

// No count of ones carries into a place that is kept.
void prove_carryless_low() {
#ifdef PARAES_A
  const unsigned first_of_a = PARAES_A;
  const unsigned first_of_b = PARAES_B;
#else
  const unsigned first_of_a = any_8() % 4;
  const unsigned first_of_b = any_8() % 4;
#endif
  const std::uint64_t a = any_in_places(first_of_a);
  const std::uint64_t b = any_in_places(first_of_b);
  std::uint64_t expected = 0;
  for (unsigned i = first_of_a; i < 64; i += 4) {
    if ((a >> i & 1) != 0) expected ^= b << i;
  }
  CHECK(paraes::carryless_low(a, b) == expected);
}

void prove_reverse_bits() {
  const std::uint64_t a = any_64();
  const std::uint64_t reversed = paraes::reverse_bits(a);
  for (unsigned i = 0; i < 32; ++i) {
    CHECK((a >> i & 1) == (reversed >> (63 - i) & 1));
    CHECK((a >> (63 - i) & 1) == (reversed >> i & 1));
  }
}
