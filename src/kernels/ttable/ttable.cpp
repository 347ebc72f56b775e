// Four tables of 1 KiB for each direction (the papers' AES-AIM): SubBytes, ShiftRows and MixColumns
// of a column take four lookups and three XORs (FIPS 197 sections 5.1 and 5.3.5). The indices are
// secret, so this kernel leaks through the caches: it is for measurements.

#include "src/core/sbox.hpp"
#include "src/kernels/block_modes.hpp"

namespace paraes {
namespace {

using Table = std::array<std::uint32_t, 256>;

// A word is a column, little-endian: row 0 is the low byte. Table r is for row r.
constexpr Table make_table(int row, bool inverse) {
  Table table{};
  for (unsigned x = 0; x < 256; ++x) {
    const std::uint8_t s = inverse ? inverse_sbox[x] : sbox[x];
    const std::uint32_t column =
        inverse ? static_cast<std::uint32_t>(gf_multiply(s, 14)) |
                      static_cast<std::uint32_t>(gf_multiply(s, 9)) << 8 |
                      static_cast<std::uint32_t>(gf_multiply(s, 13)) << 16 |
                      static_cast<std::uint32_t>(gf_multiply(s, 11)) << 24
                : static_cast<std::uint32_t>(gf_multiply(s, 2)) |
                      static_cast<std::uint32_t>(s) << 8 | static_cast<std::uint32_t>(s) << 16 |
                      static_cast<std::uint32_t>(gf_multiply(s, 3)) << 24;
    table[x] = row == 0 ? column : (column << (8 * row)) | (column >> (32 - 8 * row));
  }
  return table;
}

alignas(64) constexpr Table te[4] = {make_table(0, false), make_table(1, false),
                                     make_table(2, false), make_table(3, false)};
alignas(64) constexpr Table td[4] = {make_table(0, true), make_table(1, true), make_table(2, true),
                                     make_table(3, true)};

inline std::uint32_t sub_word(std::uint32_t w, const std::array<std::uint8_t, 256>& box) {
  return static_cast<std::uint32_t>(box[w & 0xff]) |
         static_cast<std::uint32_t>(box[(w >> 8) & 0xff]) << 8 |
         static_cast<std::uint32_t>(box[(w >> 16) & 0xff]) << 16 |
         static_cast<std::uint32_t>(box[w >> 24]) << 24;
}

void expand(KeySchedule& schedule, const std::uint8_t* key, unsigned key_bytes) {
  expand_encryption_key(schedule, key, key_bytes,
                        [](std::uint32_t w) { return sub_word(w, sbox); });
  const unsigned rounds = schedule.rounds;
  std::memcpy(schedule.decrypt[0], schedule.encrypt[rounds], 16);
  std::memcpy(schedule.decrypt[rounds], schedule.encrypt[0], 16);
  for (unsigned round = 1; round < rounds; ++round) {
    for (int c = 0; c < 16; c += 4) {
      // InvMixColumns through the tables: td[r][sbox[x]] is row r's multiple of x.
      const std::uint32_t w = load_le32(schedule.encrypt[rounds - round] + c);
      store_le32(schedule.decrypt[round] + c, td[0][sbox[w & 0xff]] ^ td[1][sbox[(w >> 8) & 0xff]] ^
                                                  td[2][sbox[(w >> 16) & 0xff]] ^
                                                  td[3][sbox[w >> 24]]);
    }
  }
}

// Row r comes from column c + Shift r modulo 4: ShiftRows takes it from column c + r, InvShiftRows
// from column c - r, which is c + 3 r modulo 4.
template <unsigned Shift>
inline void cipher(const std::uint8_t (*keys)[16], unsigned rounds, const Table* t,
                   const std::array<std::uint8_t, 256>& box, const std::uint8_t* in,
                   std::uint8_t* out) {
  std::uint32_t s[4];
  std::uint32_t n[4];
  for (unsigned c = 0; c < 4; ++c) s[c] = load_le32(in + 4 * c) ^ load_le32(keys[0] + 4 * c);
  for (unsigned round = 1; round < rounds; ++round) {
    for (unsigned c = 0; c < 4; ++c) {
      n[c] = t[0][s[c] & 0xff] ^ t[1][(s[(c + Shift) % 4] >> 8) & 0xff] ^
             t[2][(s[(c + 2 * Shift) % 4] >> 16) & 0xff] ^ t[3][s[(c + 3 * Shift) % 4] >> 24] ^
             load_le32(keys[round] + 4 * c);
    }
    std::memcpy(s, n, sizeof s);
  }
  for (unsigned c = 0; c < 4; ++c) {
    const std::uint32_t w = (s[c] & 0x000000ff) | (s[(c + Shift) % 4] & 0x0000ff00) |
                            (s[(c + 2 * Shift) % 4] & 0x00ff0000) |
                            (s[(c + 3 * Shift) % 4] & 0xff000000);
    store_le32(out + 4 * c, sub_word(w, box) ^ load_le32(keys[rounds] + 4 * c));
  }
}

void encrypt_block(const KeySchedule& schedule, const std::uint8_t* in, std::uint8_t* out) {
  cipher<1>(schedule.encrypt, schedule.rounds, te, sbox, in, out);
}

void decrypt_block(const KeySchedule& schedule, const std::uint8_t* in, std::uint8_t* out) {
  cipher<3>(schedule.decrypt, schedule.rounds, td, inverse_sbox, in, out);
}

// GHASH with Shoup's 4-bit tables: powers[n] is n·H for the 4-bit polynomial n, where the nibble's
// high bit is the lowest power of x (SP 800-38D section 6.3 orders bits so).
struct Element {
  std::uint64_t high;
  std::uint64_t low;
};

// Entry n is what the low four bits n of an element add to its high word, reduced, when it is
// multiplied by x^4.
constexpr std::array<std::uint64_t, 16> make_reduction() {
  std::array<std::uint64_t, 16> table{};
  for (unsigned n = 0; n < 16; ++n) {
    std::uint64_t high = 0;
    std::uint64_t low = n;
    for (int i = 0; i < 4; ++i) {
      const std::uint64_t carry = low & 1;
      low = (low >> 1) | (high << 63);
      high = (high >> 1) ^ (carry * 0xe100000000000000);
    }
    table[n] = high;
  }
  return table;
}

constexpr std::array<std::uint64_t, 16> reduction = make_reduction();

void ghash_init(GhashKey& key, const std::uint8_t h[16]) {
  std::memcpy(key.h, h, 16);
  Element table[16] = {};
  Element v{load_be64(h), load_be64(h + 8)};
  for (unsigned bit = 8; bit != 0; bit >>= 1) {
    table[bit] = v;
    const std::uint64_t carry = v.low & 1;
    v.low = (v.low >> 1) | (v.high << 63);
    v.high = (v.high >> 1) ^ (carry * 0xe100000000000000);
  }
  for (unsigned n = 1; n < 16; ++n) {
    const unsigned lowest = n & (0 - n);
    if (lowest == n) continue;
    table[n] = {table[lowest].high ^ table[n ^ lowest].high,
                table[lowest].low ^ table[n ^ lowest].low};
  }
  std::memcpy(key.powers, table, sizeof table);
  secure_zero(table, sizeof table);
}

void ghash(const GhashKey& key, std::uint8_t state[16], const std::uint8_t* data,
           std::size_t blocks) {
  Element table[16];
  std::memcpy(table, key.powers, sizeof table);
  for (; blocks != 0; --blocks, data += 16) {
    xor_block(state, state, data);
    Element z{0, 0};
    for (int i = 31; i >= 0; --i) {
      const unsigned nibble = (i % 2 != 0 ? state[i / 2] : state[i / 2] >> 4) & 15;
      const std::uint64_t fold = reduction[z.low & 15];
      z.low = ((z.low >> 4) | (z.high << 60)) ^ table[nibble].low;
      z.high = (z.high >> 4) ^ fold ^ table[nibble].high;
    }
    store_be64(state, z.high);
    store_be64(state + 8, z.low);
  }
  secure_zero(table, sizeof table);
}

}  // namespace

constinit const Kernel ttable_kernel =
    block_modes::make_kernel<encrypt_block, decrypt_block>("ttable", expand, ghash_init, ghash);

}  // namespace paraes
