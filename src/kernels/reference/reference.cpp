// FIPS 197 as it is written, byte by byte: the readable baseline (the papers' AES-CI). The indices
// of its S-box lookups are secret, so it leaks through the caches: it is for measurements and for
// checking the other kernels.

#include "src/core/sbox.hpp"
#include "src/kernels/block_modes.hpp"

namespace paraes {
namespace {

// The state is 16 bytes in input order: byte r + 4 c is row r, column c (FIPS 197 section 3.4).
using State = std::uint8_t[16];

void sub_bytes(State s) {
  for (int i = 0; i < 16; ++i) s[i] = sbox[s[i]];
}

void inv_sub_bytes(State s) {
  for (int i = 0; i < 16; ++i) s[i] = inverse_sbox[s[i]];
}

void shift_rows(State s) {
  State t;
  for (int c = 0; c < 4; ++c) {
    for (int r = 0; r < 4; ++r) t[r + 4 * c] = s[r + 4 * ((c + r) % 4)];
  }
  std::memcpy(s, t, 16);
}

void inv_shift_rows(State s) {
  State t;
  for (int c = 0; c < 4; ++c) {
    for (int r = 0; r < 4; ++r) t[r + 4 * ((c + r) % 4)] = s[r + 4 * c];
  }
  std::memcpy(s, t, 16);
}

void mix_columns(State s) {
  for (std::uint8_t* a = s; a != s + 16; a += 4) {
    const auto all = static_cast<std::uint8_t>(a[0] ^ a[1] ^ a[2] ^ a[3]);
    const std::uint8_t first = a[0];
    for (int r = 0; r < 4; ++r) {
      const std::uint8_t next = r == 3 ? first : a[r + 1];
      // 2 a[r] + 3 a[r+1] + a[r+2] + a[r+3] = a[r] + all + 2 (a[r] + a[r+1])
      a[r] = static_cast<std::uint8_t>(a[r] ^ all ^ xtime(static_cast<std::uint8_t>(a[r] ^ next)));
    }
  }
}

void inv_mix_columns(State s) {
  for (std::uint8_t* a = s; a != s + 16; a += 4) {
    // InvMixColumns is MixColumns after 4 (a[0] + a[2]) has been added to the even rows and
    // 4 (a[1] + a[3]) to the odd ones.
    const std::uint8_t even = xtime(xtime(static_cast<std::uint8_t>(a[0] ^ a[2])));
    const std::uint8_t odd = xtime(xtime(static_cast<std::uint8_t>(a[1] ^ a[3])));
    a[0] ^= even;
    a[2] ^= even;
    a[1] ^= odd;
    a[3] ^= odd;
  }
  mix_columns(s);
}

void expand(KeySchedule& schedule, const std::uint8_t* key, unsigned key_bytes) {
  expand_encryption_key(schedule, key, key_bytes, [](std::uint32_t w) {
    return static_cast<std::uint32_t>(sbox[w & 0xff]) |
           static_cast<std::uint32_t>(sbox[(w >> 8) & 0xff]) << 8 |
           static_cast<std::uint32_t>(sbox[(w >> 16) & 0xff]) << 16 |
           static_cast<std::uint32_t>(sbox[w >> 24]) << 24;
  });
}

// Cipher of FIPS 197 section 5.1.
void encrypt_block(const KeySchedule& schedule, const std::uint8_t* in, std::uint8_t* out) {
  State s;
  xor_block(s, in, schedule.encrypt[0]);
  for (unsigned round = 1; round < schedule.rounds; ++round) {
    sub_bytes(s);
    shift_rows(s);
    mix_columns(s);
    xor_block(s, s, schedule.encrypt[round]);
  }
  sub_bytes(s);
  shift_rows(s);
  xor_block(out, s, schedule.encrypt[schedule.rounds]);
}

// InvCipher of FIPS 197 section 5.3.
void decrypt_block(const KeySchedule& schedule, const std::uint8_t* in, std::uint8_t* out) {
  State s;
  xor_block(s, in, schedule.encrypt[schedule.rounds]);
  for (unsigned round = schedule.rounds - 1; round > 0; --round) {
    inv_shift_rows(s);
    inv_sub_bytes(s);
    xor_block(s, s, schedule.encrypt[round]);
    inv_mix_columns(s);
  }
  inv_shift_rows(s);
  inv_sub_bytes(s);
  xor_block(out, s, schedule.encrypt[0]);
}

void ghash_init(GhashKey& key, const std::uint8_t h[16]) { std::memcpy(key.h, h, 16); }

// Algorithm 1 of SP 800-38D section 6.3, bit by bit.
void multiply(std::uint8_t x[16], const std::uint8_t h[16]) {
  std::uint64_t z_high = 0;
  std::uint64_t z_low = 0;
  std::uint64_t v_high = load_be64(h);
  std::uint64_t v_low = load_be64(h + 8);
  for (int i = 0; i < 128; ++i) {
    if (((x[i / 8] >> (7 - i % 8)) & 1) != 0) {
      z_high ^= v_high;
      z_low ^= v_low;
    }
    const bool carry = (v_low & 1) != 0;
    v_low = (v_low >> 1) | (v_high << 63);
    v_high >>= 1;
    if (carry) v_high ^= 0xe100000000000000;
  }
  store_be64(x, z_high);
  store_be64(x + 8, z_low);
}

void ghash(const GhashKey& key, std::uint8_t state[16], const std::uint8_t* data,
           std::size_t blocks) {
  for (; blocks != 0; --blocks, data += 16) {
    xor_block(state, state, data);
    multiply(state, key.h);
  }
}

}  // namespace

constinit const Kernel reference_kernel =
    block_modes::make_kernel<encrypt_block, decrypt_block>("reference", expand, ghash_init, ghash);

}  // namespace paraes
