// Random bytes and key derivation. The hashes, scrypt and PBKDF2 are those of OpenSSL's libcrypto,
// and random bytes come from the system.
//
// Sizes are in bytes. `out` overlaps no input. All functions throw Error if libcrypto or the system
// fails.
#pragma once

#include <array>
#include <string_view>

#include "paraes/ciphers.hpp"
#include "paraes/export.hpp"

namespace paraes {

// For executables: keeps libcrypto from reading openssl.cnf (or the file that OPENSSL_CONF names),
// which scrypt, PBKDF2 and the kernel `openssl` would make it do. That takes time, can load modules
// into the process and can fail. It also keeps libcrypto from freeing its memory one piece after
// another when the process exits. Call it before anything else uses libcrypto. The library does not
// call it, because the process may use libcrypto in other ways, too. Throws std::bad_alloc.
PARAES_EXPORT void ignore_openssl_configuration();

// Fills `out` with bytes of the system's random generator, fit for keys and for what is
// published. Waits, early after the system's start, until the generator is seeded.
PARAES_EXPORT void random_bytes(MutableBytes out);

// MD5 and SHA-1 are for files of old programs.
enum class Digest { md5, sha1, sha224, sha256, sha384, sha512 };
inline constexpr std::array<std::string_view, 6> digest_names = {"md5",    "sha1",   "sha224",
                                                                 "sha256", "sha384", "sha512"};

// PBKDF2 (RFC 8018 section 5.2) with HMAC of a hash. `out` has at least 1 byte, `iterations` is 1
// to 2^31 - 1, and no span has more than 2^31 - 1 bytes; else InvalidArgument.
PARAES_EXPORT void pbkdf2(Digest digest, Bytes passphrase, Bytes salt, std::uint64_t iterations,
                          MutableBytes out);
// PBKDF2 with HMAC-SHA-256.
PARAES_EXPORT void pbkdf2_sha256(Bytes passphrase, Bytes salt, std::uint64_t iterations,
                                 MutableBytes out);

// EVP_BytesToKey with one iteration, as `openssl enc` uses it without -pbkdf2. Whoever has a file
// can try one passphrase for each hash, so this is only for files of old programs. `salt` has 8
// bytes, `key` 16, 24 or 32, and `iv` 16; else InvalidArgument.
PARAES_EXPORT void evp_bytes_to_key(Digest digest, Bytes passphrase, Bytes salt, MutableBytes key,
                                    MutableBytes iv);

enum class HkdfHash { sha1, sha256, sha512 };

// HKDF-Extract and HKDF-Expand (RFC 5869). `out` has 1 byte to 255 times the size of the hash's
// digest; else InvalidArgument. The other sizes have no limit.
PARAES_EXPORT void hkdf(HkdfHash hash, Bytes ikm, Bytes salt, Bytes info, MutableBytes out);

// HKDF-Expand with SHA-512 and the pseudorandom key `prk` (RFC 5869 section 2.3). `out` as in hkdf.
PARAES_EXPORT void hkdf_expand_sha512(Bytes prk, Bytes info, MutableBytes out);

inline constexpr unsigned highest_scrypt_log2n = 40;  // takes 1 PiB of memory

// scrypt (RFC 7914) with N = 2^log2n, r = 8, p = 1. log2n is 1 to highest_scrypt_log2n; else
// InvalidArgument. Needs 2^(log2n + 10) bytes of memory while it runs; the message of its Error
// says how much that is.
PARAES_EXPORT void scrypt(Bytes passphrase, Bytes salt, unsigned log2n, MutableBytes out);

}  // namespace paraes
