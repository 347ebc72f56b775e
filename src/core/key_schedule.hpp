// Expanded keys. Each kernel's `expand` fills the parts that its own operations read.
#pragma once

#include <cstdint>

#include "core/bytes.hpp"
#include "paraes/secret.hpp"

namespace paraes {

inline constexpr unsigned max_rounds = 14;

// Number of rounds for a key of 16, 24 or 32 bytes (FIPS 197 section 5, table 3).
constexpr unsigned rounds_for(unsigned key_bytes) noexcept { return key_bytes / 4 + 6; }

struct KeySchedule {
  // Round keys in the byte order of the state (FIPS 197 section 5.2).
  alignas(64) std::uint8_t encrypt[max_rounds + 1][16];
  // Round keys of the equivalent inverse cipher, first to be used first (section 5.3.5).
  alignas(64) std::uint8_t decrypt[max_rounds + 1][16];
  // Bit planes of the encryption round keys; see kernels/bitslice.
  alignas(64) std::uint64_t sliced[max_rounds + 1][8];
  // Entry b is what the last byte b of a counter block changes in the state after round 1, compared
  // with a last byte of 0: the same for all blocks under this key. The entries after the 256th
  // start again, for vectors across the wrap. For the kernels with AES instructions.
  static constexpr unsigned counter_entries = 256 + 2;
  alignas(64) std::uint8_t counter_round[counter_entries][16];
  std::uint8_t key[32];  // the cipher key itself, for kernels that hand it to a library
  unsigned key_bytes;
  unsigned rounds;

  KeySchedule() noexcept { secure_zero(this, sizeof *this); }
  ~KeySchedule() { secure_zero(this, sizeof *this); }
  KeySchedule(const KeySchedule&) = delete;
  KeySchedule& operator=(const KeySchedule&) = delete;
};

// KeyExpansion of FIPS 197 section 5.2 into schedule.encrypt. `sub_word` is the kernel's S-box on
// the four bytes of a word (little-endian: byte 0 of the word is the first byte).
template <class SubWord>
void expand_encryption_key(KeySchedule& schedule, const std::uint8_t* key, unsigned key_bytes,
                           SubWord sub_word) {
  const unsigned nk = key_bytes / 4;
  schedule.key_bytes = key_bytes;
  schedule.rounds = rounds_for(key_bytes);
  const unsigned words = 4 * (schedule.rounds + 1);
  std::uint8_t* w = schedule.encrypt[0];
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

}  // namespace paraes
