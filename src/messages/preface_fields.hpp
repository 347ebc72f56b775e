// The bytes of a preface: docs/formats.md, "paraes". Without exceptions and containers, so that the
// tests in tests/proofs can prove it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/core/bytes.hpp"

namespace paraes {
namespace detail {

constexpr std::size_t preface_bytes = 32;
constexpr std::uint8_t preface_magic[8] = {'P', 'A', 'R', 'A', 'E', 'S', '\r', '\n'};
constexpr std::uint8_t preface_version = 1;
constexpr std::uint32_t most_wrap_bytes = 1 << 18;

// Offsets in the preface.
constexpr std::size_t at_version = 8;
constexpr std::size_t at_kdf = 9;
constexpr std::size_t at_aead = 10;
constexpr std::size_t at_log2n = 11;
constexpr std::size_t at_wrap_bytes = 12;  // reserved, and zero, without recipients
constexpr std::size_t at_salt = 16;

constexpr std::uint8_t kdf_none = 0;
constexpr std::uint8_t kdf_scrypt = 1;
constexpr std::uint8_t kdf_recipients = 2;
constexpr std::uint8_t aead_128 = 1;
constexpr std::uint8_t aead_256 = 2;

// As in Preface.
struct PrefaceFields {
  std::uint8_t kdf;
  std::uint32_t key_bits;
  std::uint32_t scrypt_log2n;
  std::uint32_t wrap_bytes;
  std::uint8_t kdf_salt[16];
};

// Why a reader refuses a preface.
enum class PrefaceFault {
  none,
  magic,
  truncated,
  version,
  kdf,
  aead,
  unused_scrypt,  // scrypt parameters, but no scrypt
  wrap_bytes,     // out of range
  reserved,       // wrap_bytes without recipients
  no_cost,        // scrypt with N = 1
};

// What a slot has besides an input key: a C2SP header and a tag.
constexpr std::uint32_t slot_overhead_bytes = 56 + 16;

// The size of a slot.
inline std::uint32_t slot_bytes_of(std::uint32_t key_bits) noexcept {
  return slot_overhead_bytes + key_bits / 8;
}

// Whether `start` begins like a preface, as far as it goes.
inline bool begins_like_preface(const std::uint8_t* start, std::size_t bytes) noexcept {
  for (std::size_t i = 0; i < sizeof preface_magic && i < bytes; ++i) {
    if (start[i] != preface_magic[i]) return false;
  }
  return true;
}

// Reads the preface at the beginning of `bytes` bytes. `fields` is complete only without a fault.
inline PrefaceFault read_preface(const std::uint8_t* start, std::size_t bytes,
                                 PrefaceFields& fields) noexcept {
  if (!begins_like_preface(start, bytes)) return PrefaceFault::magic;
  if (bytes < preface_bytes) return PrefaceFault::truncated;
  if (start[at_version] != preface_version) return PrefaceFault::version;
  if (start[at_kdf] > kdf_recipients) return PrefaceFault::kdf;
  if (start[at_aead] != aead_128 && start[at_aead] != aead_256) return PrefaceFault::aead;
  fields.kdf = start[at_kdf];
  fields.key_bits = start[at_aead] == aead_128 ? 128 : 256;
  fields.scrypt_log2n = start[at_log2n];
  fields.wrap_bytes = load_be32(start + at_wrap_bytes);
  std::uint8_t any_salt = 0;
  for (std::size_t i = 0; i < sizeof fields.kdf_salt; ++i) {
    fields.kdf_salt[i] = start[at_salt + i];
    any_salt |= fields.kdf_salt[i];
  }
  if (fields.kdf != kdf_scrypt && (fields.scrypt_log2n != 0 || any_salt != 0)) {
    return PrefaceFault::unused_scrypt;
  }
  if (fields.kdf == kdf_recipients) {
    if (fields.wrap_bytes <= slot_bytes_of(fields.key_bits) ||
        fields.wrap_bytes > most_wrap_bytes) {
      return PrefaceFault::wrap_bytes;
    }
  } else if (fields.wrap_bytes != 0) {
    return PrefaceFault::reserved;
  }
  if (fields.kdf == kdf_scrypt && fields.scrypt_log2n == 0) return PrefaceFault::no_cost;
  return PrefaceFault::none;
}

// Writes preface_bytes bytes. Fields too large for theirs are cut.
inline void write_preface(const PrefaceFields& fields, std::uint8_t* to) noexcept {
  for (std::size_t i = 0; i < sizeof preface_magic; ++i) to[i] = preface_magic[i];
  to[at_version] = preface_version;
  to[at_kdf] = fields.kdf;
  to[at_aead] = fields.key_bits == 128 ? aead_128 : aead_256;
  to[at_log2n] = static_cast<std::uint8_t>(fields.scrypt_log2n);
  store_be32(to + at_wrap_bytes, fields.wrap_bytes);
  for (std::size_t i = 0; i < sizeof fields.kdf_salt; ++i) to[at_salt + i] = fields.kdf_salt[i];
}

}  // namespace detail
}  // namespace paraes
