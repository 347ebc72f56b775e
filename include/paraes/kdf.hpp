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

}  // namespace paraes
