#include "paraes/kdf.hpp"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <limits>
#include <string>

#include "paraes/error.hpp"

namespace paraes {
namespace {

void check(int result, const char* what) {
  if (result == 1) return;
  char text[160] = "no further detail";
  const unsigned long code = ERR_get_error();
  if (code != 0) ERR_error_string_n(code, text, sizeof text);
  throw Error(std::string("OpenSSL: ") + what + " failed: " + text);
}

constexpr std::uint64_t int_max = std::numeric_limits<int>::max();

void check_random_size(MutableBytes out) {
  if (out.size() > int_max) throw InvalidArgument("at most 2^31 - 1 random bytes a call");
}

}  // namespace

void random_bytes(MutableBytes out) {
  check_random_size(out);
  check(RAND_bytes(out.data(), static_cast<int>(out.size())), "RAND_bytes");
}

void random_key(MutableBytes out) {
  check_random_size(out);
  check(RAND_priv_bytes(out.data(), static_cast<int>(out.size())), "RAND_priv_bytes");
}

void pbkdf2_sha256(Bytes passphrase, Bytes salt, std::uint64_t iterations, MutableBytes out) {
  if (iterations < 1 || iterations > int_max) {
    throw InvalidArgument("PBKDF2 takes 1 to 2^31 - 1 iterations (RFC 8018 section 5.2), not " +
                          std::to_string(iterations));
  }
  if (out.empty() || out.size() > int_max || passphrase.size() > int_max || salt.size() > int_max) {
    throw InvalidArgument("PBKDF2: a length is zero or over 2^31 - 1 bytes");
  }
  // OpenSSL reads a null passphrase of length 0 as "none given".
  const char* text = passphrase.empty() ? "" : reinterpret_cast<const char*>(passphrase.data());
  check(PKCS5_PBKDF2_HMAC(text, static_cast<int>(passphrase.size()), salt.data(),
                          static_cast<int>(salt.size()), static_cast<int>(iterations), EVP_sha256(),
                          static_cast<int>(out.size()), out.data()),
        "PKCS5_PBKDF2_HMAC");
}

}  // namespace paraes
