// Counters (src/core/counter.hpp) against addition byte by byte, with a carry.
// Bounds: none. All 2^128 counters, and all numbers of 64 bits (32 for add_be32).

#include "src/core/counter.hpp"

#include "tests/proofs/proof.hpp"

// Byte `i` from the low end of n, and 0 beyond it.
static unsigned byte_of(std::uint64_t n, unsigned i) {
  return i < 8 ? static_cast<unsigned>(n >> (8 * i) & 0xff) : 0;
}

// Whether the low `width` bytes of `after` are those of `before` + n, and the others are unchanged.
// Byte i from the low end is at[i].
static bool is_sum(const std::uint8_t* before, const std::uint8_t* after, const unsigned* at,
                   unsigned width, std::uint64_t n) {
  unsigned carry = 0;
  for (unsigned i = 0; i < 16; ++i) {
    const unsigned sum = before[at[i]] + (i < width ? byte_of(n, i) + carry : 0);
    if (after[at[i]] != (sum & 0xff)) return false;
    carry = sum >> 8;
  }
  return true;
}

static const unsigned from_right[16] = {15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0};
static const unsigned from_left[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

void prove_add_be128() {
  std::uint8_t before[16];
  std::uint8_t counter[16];
  any_bytes(before, 16);
  for (unsigned i = 0; i < 16; ++i) counter[i] = before[i];
  const std::uint64_t n = any_64();
  paraes::add_be128(counter, n);
  CHECK(is_sum(before, counter, from_right, 16, n));
}

void prove_add_le128() {
  std::uint8_t before[16];
  std::uint8_t counter[16];
  any_bytes(before, 16);
  for (unsigned i = 0; i < 16; ++i) counter[i] = before[i];
  const std::uint64_t n = any_64();
  paraes::add_le128(counter, n);
  CHECK(is_sum(before, counter, from_left, 16, n));
}

// The low 32 bits wrap, and the other 96 stay.
void prove_add_be32() {
  std::uint8_t before[16];
  std::uint8_t counter[16];
  any_bytes(before, 16);
  for (unsigned i = 0; i < 16; ++i) counter[i] = before[i];
  const std::uint32_t n = any_32();
  paraes::add_be32(counter, n);
  CHECK(is_sum(before, counter, from_right, 4, n));
}
