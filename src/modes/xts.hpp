// XTS, IEEE 1619 section 5 and SP 800-38E.
#pragma once

#include "paraes/ciphers.hpp"
#include "src/modes/cipher_key.hpp"

namespace paraes {

struct XtsKey : InLockedMemory {
  CipherKey data;
  CipherKey tweak;

  // `key` consists of two halves of half_bytes (16 or 32) each.
  XtsKey(const Kernel& kernel, const std::uint8_t* key, unsigned half_bytes)
      : data(kernel, key, half_bytes), tweak(kernel, key + half_bytes, half_bytes) {}
};

// The data units of one message. Every unit has `unit` bytes, except the last one, which has `last`
// (at least 16, less than unit + 16).
struct XtsUnits {
  std::size_t unit;
  std::size_t count;
  std::size_t last;

  // bytes ≥ 16; unit ≥ 16, or 0 for one unit.
  XtsUnits(std::size_t bytes, std::size_t unit_bytes);
};

// Encrypts or decrypts a data unit, or the end of one, of `bytes` ≥ 16 bytes (IEEE 1619 sections
// 5.3.2 and 5.4.2). `tweak` is the encrypted tweak of the first block, and is overwritten.
// `nontemporal` uses non-temporal stores: the kernel must have xts_encrypt_nontemporal and
// xts_decrypt_nontemporal, and out must not be in.
void xts_unit(const CipherKey& key, Direction direction, std::uint8_t tweak[16],
              const std::uint8_t* in, std::uint8_t* out, std::size_t bytes,
              bool nontemporal = false);

// Encrypts or decrypts `bytes` ≥ 16 bytes as consecutive data units, from number `first_unit` +
// `skip` on. `nontemporal` is as for xts_unit.
void xts_range(const XtsKey& key, Direction direction, const std::uint8_t first_unit[16],
               std::uint64_t skip, std::size_t unit_bytes, const std::uint8_t* in,
               std::uint8_t* out, std::size_t bytes, bool nontemporal = false);

}  // namespace paraes
