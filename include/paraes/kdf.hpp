// Random bytes and keys from passphrases. Both are OpenSSL's libcrypto: paraes has AES and its
// modes and no other cryptography of its own.
#pragma once

#include "paraes/ciphers.hpp"

namespace paraes {

// Fills `out` for values that are published: salts, nonces. Throws Error if the generator cannot
// be seeded.
void random_bytes(MutableBytes out);

// Fills `out` for values that stay secret: keys. A generator of its own, so that nothing that is
// published tells about its state.
void random_key(MutableBytes out);

// PBKDF2 (RFC 8018 section 5.2) with HMAC-SHA-256. `out` is at least 1 byte, and `iterations` from
// 1 to 2^31 - 1; else InvalidArgument.
void pbkdf2_sha256(Bytes passphrase, Bytes salt, std::uint64_t iterations, MutableBytes out);

enum class HkdfHash { sha1, sha256, sha512 };

// HKDF (RFC 5869), Extract and Expand. `out` is 1 to 255 digests long; ikm, salt and info together
// at most a few hundred bytes each (OpenSSL 3.0 takes info of 1024).
void hkdf(HkdfHash hash, Bytes ikm, Bytes salt, Bytes info, MutableBytes out);

// Its second half alone (RFC 5869 section 2.3), with SHA-512: `prk` is used as it is.
void hkdf_expand_sha512(Bytes prk, Bytes info, MutableBytes out);

// scrypt (RFC 7914) with N = 2^log2n, r = 8, p = 1. Uses 2^(log2n + 10) bytes of memory, which are
// free again when it returns; log2n is 1 to 40, else InvalidArgument. Throws Error, saying how much
// was needed, when there is not enough.
void scrypt(Bytes passphrase, Bytes salt, unsigned log2n, MutableBytes out);

}  // namespace paraes
