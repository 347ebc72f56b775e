// The modes over a cipher that processes one block at a time, for kernels without a wider form.
//
// `Cipher`, `Encrypt` and `Decrypt` are functions (const KeySchedule&, const uint8_t* in,
// uint8_t* out) on 16 bytes, where out may be in.
#pragma once

#include "src/core/counter.hpp"
#include "src/kernels/kernel.hpp"

namespace paraes::block_modes {

// Multiplies an XTS tweak by x (IEEE 1619 section 5.2): little-endian, polynomial 0x87.
inline void xts_next_tweak(std::uint8_t tweak[16]) noexcept {
  const std::uint64_t low = load_le64(tweak);
  const std::uint64_t high = load_le64(tweak + 8);
  store_le128(tweak, (low << 1) ^ ((0 - (high >> 63)) & 0x87), (high << 1) | (low >> 63));
}

template <auto Cipher>
void ecb(const KeySchedule& schedule, const std::uint8_t* in, std::uint8_t* out,
         std::size_t blocks) {
  for (; blocks != 0; --blocks, in += 16, out += 16) Cipher(schedule, in, out);
}

template <auto Encrypt>
void cbc_encrypt(const KeySchedule& schedule, std::uint8_t chain[16], const std::uint8_t* in,
                 std::uint8_t* out, std::size_t blocks) {
  for (; blocks != 0; --blocks, in += 16, out += 16) {
    xor_block(chain, chain, in);
    Encrypt(schedule, chain, chain);
    std::memcpy(out, chain, 16);
  }
}

template <auto Decrypt>
void cbc_decrypt(const KeySchedule& schedule, std::uint8_t chain[16], const std::uint8_t* in,
                 std::uint8_t* out, std::size_t blocks) {
  std::uint8_t next[16];
  std::uint8_t plain[16];
  for (; blocks != 0; --blocks, in += 16, out += 16) {
    std::memcpy(next, in, 16);
    Decrypt(schedule, in, plain);
    xor_block(out, plain, chain);
    std::memcpy(chain, next, 16);
  }
}

template <auto Encrypt>
void ctr(const KeySchedule& schedule, std::uint8_t counter[16], const std::uint8_t* in,
         std::uint8_t* out, std::size_t blocks) {
  std::uint8_t stream[16];
  for (; blocks != 0; --blocks, in += 16, out += 16) {
    Encrypt(schedule, counter, stream);
    xor_block(out, in, stream);
    add_be128(counter, 1);
  }
  secure_zero(stream, sizeof stream);
}

template <auto Cipher>
void xts(const KeySchedule& schedule, std::uint8_t* tweaks, const std::uint8_t* in,
         std::uint8_t* out, std::size_t units, std::size_t stride, std::size_t blocks) {
  std::uint8_t state[16];
  for (std::size_t u = 0; u < units; ++u) {
    std::uint8_t* tweak = tweaks + 16 * u;
    for (std::size_t i = 0; i < blocks; ++i) {
      const std::size_t at = u * stride + 16 * i;
      xor_block(state, in + at, tweak);
      Cipher(schedule, state, state);
      xor_block(out + at, state, tweak);
      xts_next_tweak(tweak);
    }
  }
}

// A kernel whose lookups leak through the caches.
template <auto Encrypt, auto Decrypt>
constexpr Kernel make_kernel(std::string_view name, decltype(Kernel::expand) expand,
                             decltype(Kernel::ghash_init) ghash_init,
                             decltype(Kernel::ghash) ghash) {
  return {.name = name,
          .timing = Timing::leaky,
          .expand = expand,
          .ecb_encrypt = ecb<Encrypt>,
          .ecb_decrypt = ecb<Decrypt>,
          .cbc_encrypt = cbc_encrypt<Encrypt>,
          .cbc_decrypt = cbc_decrypt<Decrypt>,
          .ctr = ctr<Encrypt>,
          .xts_encrypt = xts<Encrypt>,
          .xts_decrypt = xts<Decrypt>,
          .ghash_init = ghash_init,
          .ghash = ghash};
}

}  // namespace paraes::block_modes
