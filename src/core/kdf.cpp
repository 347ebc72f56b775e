#include "paraes/kdf.hpp"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <new>
#include <string>
#include <system_error>

#include "paraes/error.hpp"
#include "src/core/system/random.hpp"

namespace paraes {
namespace {

void check(int result, const char* call) {
  if (result == 1) return;
  char text[160] = "no further detail";
  const unsigned long code = ERR_get_error();
  if (ERR_GET_REASON(code) == ERR_R_MALLOC_FAILURE) throw std::bad_alloc();
  if (code != 0) ERR_error_string_n(code, text, sizeof text);
  throw Error(std::string("OpenSSL: ") + call + " failed: " + text);
}

const EVP_MD* hash_of(Digest digest) {
  switch (digest) {
    case Digest::md5:
      return EVP_md5();
    case Digest::sha1:
      return EVP_sha1();
    case Digest::sha224:
      return EVP_sha224();
    case Digest::sha256:
      return EVP_sha256();
    case Digest::sha384:
      return EVP_sha384();
    case Digest::sha512:
      break;
  }
  return EVP_sha512();
}

constexpr std::uint64_t int_max = std::numeric_limits<int>::max();

}  // namespace

void ignore_openssl_configuration() {
  // libcrypto 3.5 waits for itself without end if memory runs out while it starts. This is more
  // than it needs then, and the process keeps it when it is freed. (`volatile`: compilers may leave
  // out an allocation that nobody uses.)
  void* volatile reserve = std::malloc(std::size_t{64} << 10);
  if (reserve == nullptr) throw std::bad_alloc();
  std::free(reserve);
  // It fails for want of memory alone, and does not say so. The first call decides for the process.
  constexpr std::uint64_t options = OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT;
  if (OPENSSL_init_crypto(options, nullptr) != 1) throw std::bad_alloc();
}

void random_bytes(MutableBytes out) {
  if (const int error = system::draw_random(out.data(), out.size()); error != 0) {
    throw Error("the system gives no random bytes: " + std::generic_category().message(error));
  }
}

void pbkdf2(Digest digest, Bytes passphrase, Bytes salt, std::uint64_t iterations,
            MutableBytes out) {
  if (iterations < 1 || iterations > int_max) {
    throw InvalidArgument("PBKDF2 takes 1 to 2^31 - 1 iterations (RFC 8018 section 5.2), not " +
                          std::to_string(iterations));
  }
  if (out.empty() || out.size() > int_max || passphrase.size() > int_max || salt.size() > int_max) {
    throw InvalidArgument("PBKDF2: the output is empty, or a length is over 2^31 - 1 bytes");
  }
  // For OpenSSL a null pointer means that no passphrase is given, and not an empty one.
  const char* text = passphrase.empty() ? "" : reinterpret_cast<const char*>(passphrase.data());
  check(PKCS5_PBKDF2_HMAC(text, static_cast<int>(passphrase.size()), salt.data(),
                          static_cast<int>(salt.size()), static_cast<int>(iterations),
                          hash_of(digest), static_cast<int>(out.size()), out.data()),
        "PKCS5_PBKDF2_HMAC");
}

void pbkdf2_sha256(Bytes passphrase, Bytes salt, std::uint64_t iterations, MutableBytes out) {
  pbkdf2(Digest::sha256, passphrase, salt, iterations, out);
}

void evp_bytes_to_key(Digest digest, Bytes passphrase, Bytes salt, MutableBytes key,
                      MutableBytes iv) {
  const EVP_CIPHER* const cipher = key.size() == 16   ? EVP_aes_128_cbc()
                                   : key.size() == 24 ? EVP_aes_192_cbc()
                                                      : EVP_aes_256_cbc();
  const auto fits = [](std::size_t bytes, int wanted) {
    return bytes == static_cast<std::size_t>(wanted);
  };
  if (salt.size() != PKCS5_SALT_LEN || !fits(key.size(), EVP_CIPHER_get_key_length(cipher)) ||
      !fits(iv.size(), EVP_CIPHER_get_iv_length(cipher)) || passphrase.size() > int_max) {
    throw InvalidArgument(
        "EVP_BytesToKey takes a salt of 8 bytes and makes a key of 16, 24 or 32 and an IV of 16");
  }
  // For OpenSSL a null pointer means that nothing is to be derived.
  const std::uint8_t none = 0;
  const std::uint8_t* const text = passphrase.empty() ? &none : passphrase.data();
  const int made = EVP_BytesToKey(cipher, hash_of(digest), salt.data(), text,
                                  static_cast<int>(passphrase.size()), 1, key.data(), iv.data());
  check(fits(key.size(), made) ? 1 : 0, "EVP_BytesToKey");
}

void scrypt(Bytes passphrase, Bytes salt, unsigned log2n, MutableBytes out) {
  if (log2n < 1 || log2n > highest_scrypt_log2n) {
    throw InvalidArgument("scrypt: log2 N is 1 to 40, not " + std::to_string(log2n));
  }
  constexpr std::uint64_t r = 8;
  constexpr std::uint64_t p = 1;
  const std::uint64_t n = std::uint64_t{1} << log2n;
  const std::uint64_t memory = 128 * r * n;
  // OpenSSL's own estimate: the table, a block for each p, and working space.
  const std::uint64_t limit = memory + 128 * r * (p + 4);
  const char* text = passphrase.empty() ? "" : reinterpret_cast<const char*>(passphrase.data());
  if (EVP_PBE_scrypt(text, passphrase.size(), salt.data(), salt.size(), n, r, p, limit, out.data(),
                     out.size()) == 1) {
    return;
  }
  ERR_clear_error();
  throw Error("scrypt with N = 2^" + std::to_string(log2n) + " failed; it needs " +
              (memory >> 30 == 0 ? std::to_string(memory >> 20) + " MiB"
                                 : std::to_string(memory >> 30) + " GiB") +
              " of memory");
}

}  // namespace paraes
