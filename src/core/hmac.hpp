// HMAC (RFC 2104) over the hash functions of libcrypto, which are called without EVP: fetching an
// algorithm takes a process a millisecond, as long as the rest of encrypting a small file (decision
// 28).
#pragma once

// Deprecated in OpenSSL 3.0 in favour of EVP, and still there in 4.0.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

#ifdef OPENSSL_NO_DEPRECATED_3_0
#error \
    "paraes needs SHA1_Init, SHA256_Init and SHA512_Init: a libcrypto built without no-deprecated"
#endif

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "paraes/ciphers.hpp"
#include "paraes/error.hpp"
#include "paraes/secret.hpp"

namespace paraes {

struct Sha1Functions {
  using Context = SHA_CTX;
  static constexpr std::size_t digest_bytes = SHA_DIGEST_LENGTH;
  static constexpr std::size_t block_bytes = SHA_CBLOCK;
  static constexpr auto init = SHA1_Init;
  static constexpr auto update = SHA1_Update;
  static constexpr auto final = SHA1_Final;
};

struct Sha256Functions {
  using Context = SHA256_CTX;
  static constexpr std::size_t digest_bytes = SHA256_DIGEST_LENGTH;
  static constexpr std::size_t block_bytes = SHA256_CBLOCK;
  static constexpr auto init = SHA256_Init;
  static constexpr auto update = SHA256_Update;
  static constexpr auto final = SHA256_Final;
};

struct Sha512Functions {
  using Context = SHA512_CTX;
  static constexpr std::size_t digest_bytes = SHA512_DIGEST_LENGTH;
  static constexpr std::size_t block_bytes = SHA512_CBLOCK;
  static constexpr auto init = SHA512_Init;
  static constexpr auto update = SHA512_Update;
  static constexpr auto final = SHA512_Final;
};

// One hash computation, wiped when it is destroyed. A copy goes on from the same point.
template <class Functions>
class Hash {
 public:
  Hash() { check(Functions::init(&context_)); }
  Hash(const Hash&) = default;
  Hash& operator=(const Hash&) = default;
  ~Hash() { secure_zero(&context_, sizeof context_); }

  void add(const void* data, std::size_t bytes) {
    check(Functions::update(&context_, data, bytes));
  }

  // Writes digest_bytes. Call it once; nothing can be added afterwards.
  void finish(std::uint8_t* out) { check(Functions::final(out, &context_)); }

 private:
  static void check(int result) {
    if (result != 1) throw Error("libcrypto: a hash function failed");
  }

  typename Functions::Context context_;
};

// HMAC of one message under a key of any size. A copy made before anything is added is another
// message under the same key, which is not hashed again (RFC 2104 section 4).
template <class Functions>
class Hmac {
 public:
  static constexpr std::size_t bytes = Functions::digest_bytes;

  explicit Hmac(Bytes key) {
    std::array<std::uint8_t, Functions::block_bytes> block = {};
    if (key.size() <= block.size()) {
      std::copy(key.begin(), key.end(), block.begin());
    } else {
      Hash<Functions> hash;
      hash.add(key.data(), key.size());
      hash.finish(block.data());
    }
    constexpr std::uint8_t inner_pad = 0x36;
    constexpr std::uint8_t outer_pad = 0x5c;
    for (std::uint8_t& byte : block) byte ^= inner_pad;
    inner_.add(block.data(), block.size());
    for (std::uint8_t& byte : block) byte ^= inner_pad ^ outer_pad;
    outer_.add(block.data(), block.size());
    secure_zero(block.data(), block.size());
  }

  void add(Bytes data) { inner_.add(data.data(), data.size()); }

  // Writes `bytes` bytes. Call it once; nothing can be added afterwards.
  void finish(std::uint8_t* out) {
    inner_.finish(out);
    outer_.add(out, bytes);
    outer_.finish(out);
  }

 private:
  Hash<Functions> inner_;
  Hash<Functions> outer_;
};

}  // namespace paraes
