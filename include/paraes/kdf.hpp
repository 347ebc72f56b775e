// Random bytes and key derivation, computed by OpenSSL's libcrypto. paraes implements no
// cryptography of its own except AES and its modes.
//
// Sizes are in bytes. All functions throw Error if libcrypto fails.
#pragma once

#include "paraes/ciphers.hpp"

namespace paraes {

// Fills `out` with random bytes that may be published, such as salts and nonces. At most 2^31 - 1
// bytes; else InvalidArgument.
void random_bytes(MutableBytes out);

// As random_bytes, for values that stay secret, such as keys. Uses a separate generator, whose
// state published values cannot reveal.
void random_key(MutableBytes out);

// PBKDF2 (RFC 8018 section 5.2) with HMAC-SHA-256. `out` has at least 1 byte, `iterations` is 1 to
// 2^31 - 1, and no span has more than 2^31 - 1 bytes; else InvalidArgument.
void pbkdf2_sha256(Bytes passphrase, Bytes salt, std::uint64_t iterations, MutableBytes out);

enum class HkdfHash { sha1, sha256, sha512 };

// HKDF-Extract and HKDF-Expand (RFC 5869). `out` has 1 to 255 times the size of the hash's digest;
// `info` has at most 1024 bytes, the limit of OpenSSL 3.0.
void hkdf(HkdfHash hash, Bytes ikm, Bytes salt, Bytes info, MutableBytes out);

// HKDF-Expand with SHA-512 and the pseudorandom key `prk` (RFC 5869 section 2.3). Limits as in
// hkdf.
void hkdf_expand_sha512(Bytes prk, Bytes info, MutableBytes out);

inline constexpr unsigned highest_scrypt_log2n = 40;  // takes 1 PiB of memory

// scrypt (RFC 7914) with N = 2^log2n, r = 8, p = 1. log2n is 1 to highest_scrypt_log2n; else
// InvalidArgument. Needs 2^(log2n + 10) bytes of memory while it runs; the message of its Error
// says how much that is.
void scrypt(Bytes passphrase, Bytes salt, unsigned log2n, MutableBytes out);

}  // namespace paraes
