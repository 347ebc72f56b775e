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

template <class Context_, std::size_t DigestBytes, std::size_t BlockBytes, auto Init, auto Update,
          auto Final>
struct HashFunctions {
  using Context = Context_;
  static constexpr std::size_t digest_bytes = DigestBytes;
  static constexpr std::size_t block_bytes = BlockBytes;
  static constexpr auto init = Init;
  static constexpr auto update = Update;
  static constexpr auto final = Final;
};

using Sha1Functions =
    HashFunctions<SHA_CTX, SHA_DIGEST_LENGTH, SHA_CBLOCK, SHA1_Init, SHA1_Update, SHA1_Final>;
using Sha256Functions = HashFunctions<SHA256_CTX, SHA256_DIGEST_LENGTH, SHA256_CBLOCK, SHA256_Init,
                                      SHA256_Update, SHA256_Final>;
using Sha512Functions = HashFunctions<SHA512_CTX, SHA512_DIGEST_LENGTH, SHA512_CBLOCK, SHA512_Init,
                                      SHA512_Update, SHA512_Final>;

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

// HMAC of one message under a key of any size. A copy made before anything is added starts another
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
