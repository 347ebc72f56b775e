// Expanded keys. A kernel's `expand` fills the members that its own operations read.
#pragma once

#include <cstdint>

#include "paraes/secret.hpp"
#include "src/core/bytes.hpp"
#include "src/core/non_copyable.hpp"

namespace paraes {

inline constexpr unsigned max_rounds = 14;

// Number of rounds for a key of 16, 24 or 32 bytes (FIPS 197 section 5, table 3).
constexpr unsigned rounds_for(unsigned key_bytes) noexcept { return key_bytes / 4 + 6; }

struct KeySchedule : NonCopyable {
  // Round keys in the byte order of the state (FIPS 197 section 5.2).
  alignas(64) std::uint8_t encrypt[max_rounds + 1][16];
  // These two share the cache line of the last round keys.
  unsigned rounds;
  unsigned key_bytes;
  // Round keys of the equivalent inverse cipher, in the order of their use (section 5.3.5).
  alignas(64) std::uint8_t decrypt[max_rounds + 1][16];
  // Bit planes of the encryption round keys; see kernels/bitslice.
  alignas(64) std::uint64_t sliced[max_rounds + 1][8];
  // For kernels with AES instructions: the XOR of the states after round 1 of two counter blocks
  // that differ only in the last byte, which is b in one and 0 in the other, at index b. It is the
  // same for all such blocks under this key. The entries from index 256 on repeat the first ones,
  // for vectors in which the last byte wraps.
  static constexpr unsigned counter_entries = 256 + 2;
  union {
    alignas(64) std::uint8_t counter_round[counter_entries][16];
    // For bitslice on vectors of one block: as `sliced`, with a byte of zeros or ones for each byte
    // of the round key.
    alignas(64) std::uint8_t byte_planes[max_rounds + 1][8][16];
  };
  std::uint8_t key[32];  // the cipher key itself, for kernels that hand it to a library

  KeySchedule() noexcept { secure_zero(this, sizeof *this); }
  ~KeySchedule() { secure_zero(this, sizeof *this); }
};

// KeyExpansion of FIPS 197 section 5.2 into the round keys `w`. `sub_word` is the kernel's S-box on
// the four bytes of a word (little-endian: byte 0 of the word is the first byte).
template <class SubWord>
void expand_round_keys(std::uint8_t* w, const std::uint8_t* key, unsigned key_bytes,
                       SubWord sub_word) {
  const unsigned nk = key_bytes / 4;
  const unsigned words = 4 * (rounds_for(key_bytes) + 1);
  std::memcpy(w, key, key_bytes);
  std::uint32_t rcon = 1;
  std::uint32_t t = load_le32(key + key_bytes - 4);
  for (unsigned i = nk; i < words; ++i) {
    if (i % nk == 0) {
      t = sub_word((t >> 8) | (t << 24)) ^ rcon;
      rcon = (rcon << 1) ^ ((rcon >> 7) * 0x11b);
    } else if (nk > 6 && i % nk == 4) {
      t = sub_word(t);
    }
    t ^= load_le32(w + 4 * (i - nk));
    store_le32(w + 4 * i, t);
  }
  secure_zero(&t, sizeof t);
}

// Expands `key` into schedule.encrypt.
template <class SubWord>
void expand_encryption_key(KeySchedule& schedule, const std::uint8_t* key, unsigned key_bytes,
                           SubWord sub_word) {
  schedule.key_bytes = key_bytes;
  schedule.rounds = rounds_for(key_bytes);
  expand_round_keys(schedule.encrypt[0], key, key_bytes, sub_word);
}

// Fills schedule.decrypt from schedule.encrypt: InvMixColumns of the inner round keys (FIPS 197
// section 5.3.5), four bytes of a word at a time and without a table.
inline void expand_decryption_keys(KeySchedule& schedule) noexcept {
  const auto times_x = [](std::uint32_t w) {
    return ((w & 0x7f7f7f7fU) << 1) ^ (((w >> 7) & 0x01010101U) * 0x1bU);
  };
  const auto rotate = [](std::uint32_t w, unsigned bits) {
    return (w >> bits) | (w << (32 - bits));
  };
  for (unsigned r = 0; r <= schedule.rounds; ++r) {
    const std::uint8_t* source = schedule.encrypt[schedule.rounds - r];
    const bool inner = r != 0 && r != schedule.rounds;
    for (unsigned c = 0; c < 16; c += 4) {
      const std::uint32_t w1 = load_le32(source + c);
      const std::uint32_t w2 = times_x(w1);
      const std::uint32_t w4 = times_x(w2);
      const std::uint32_t w8 = times_x(w4);
      const std::uint32_t w9 = w8 ^ w1;
      // 14, 11, 13 and 9 times this byte and the three after it in the column.
      const std::uint32_t mixed =
          (w8 ^ w4 ^ w2) ^ rotate(w9 ^ w2, 8) ^ rotate(w9 ^ w4, 16) ^ rotate(w9, 24);
      store_le32(schedule.decrypt[r] + c, inner ? mixed : w1);
    }
  }
}

}  // namespace paraes
