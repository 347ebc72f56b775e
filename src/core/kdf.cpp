#include "paraes/kdf.hpp"

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/rand.h>

#include <limits>
#include <memory>
#include <string>

#include "paraes/error.hpp"

namespace paraes {
namespace {

void check(int result, const char* call) {
  if (result == 1) return;
  char text[160] = "no further detail";
  const unsigned long code = ERR_get_error();
  if (code != 0) ERR_error_string_n(code, text, sizeof text);
  throw Error(std::string("OpenSSL: ") + call + " failed: " + text);
}

constexpr std::uint64_t int_max = std::numeric_limits<int>::max();

void check_random_size(MutableBytes out) {
  if (out.size() > int_max) throw InvalidArgument("at most 2^31 - 1 random bytes per call");
}

struct FreeKdf {
  void operator()(EVP_KDF* kdf) const { EVP_KDF_free(kdf); }
  void operator()(EVP_KDF_CTX* context) const { EVP_KDF_CTX_free(context); }
};

OSSL_PARAM octets(const char* name, Bytes bytes) {
  // OSSL_PARAM has no const pointers, although OpenSSL only reads these, and must not be null.
  static std::uint8_t none = 0;
  void* data = bytes.empty() ? &none : const_cast<std::uint8_t*>(bytes.data());
  return OSSL_PARAM_construct_octet_string(name, data, bytes.size());
}

void run_hkdf(int mode, const char* digest, Bytes key, Bytes salt, Bytes info, MutableBytes out) {
  // Fetched once, because that takes longer than a derivation.
  static const std::unique_ptr<EVP_KDF, FreeKdf> kdf(EVP_KDF_fetch(nullptr, "HKDF", nullptr));
  const std::unique_ptr<EVP_KDF_CTX, FreeKdf> context(kdf ? EVP_KDF_CTX_new(kdf.get()) : nullptr);
  check(context != nullptr ? 1 : 0, "EVP_KDF_fetch(HKDF)");
  OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_int(OSSL_KDF_PARAM_MODE, &mode),
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, const_cast<char*>(digest), 0),
      octets(OSSL_KDF_PARAM_KEY, key),
      octets(OSSL_KDF_PARAM_INFO, info),
      octets(OSSL_KDF_PARAM_SALT, salt),
      OSSL_PARAM_construct_end()};
  check(EVP_KDF_derive(context.get(), out.data(), out.size(), parameters), "HKDF");
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
    throw InvalidArgument("PBKDF2: the output is empty, or a length is over 2^31 - 1 bytes");
  }
  // For OpenSSL a null pointer means that no passphrase is given, and not an empty one.
  const char* text = passphrase.empty() ? "" : reinterpret_cast<const char*>(passphrase.data());
  check(PKCS5_PBKDF2_HMAC(text, static_cast<int>(passphrase.size()), salt.data(),
                          static_cast<int>(salt.size()), static_cast<int>(iterations), EVP_sha256(),
                          static_cast<int>(out.size()), out.data()),
        "PKCS5_PBKDF2_HMAC");
}

void hkdf(HkdfHash hash, Bytes ikm, Bytes salt, Bytes info, MutableBytes out) {
  const char* digest = hash == HkdfHash::sha1     ? "SHA1"
                       : hash == HkdfHash::sha256 ? "SHA256"
                                                  : "SHA512";
  run_hkdf(EVP_KDF_HKDF_MODE_EXTRACT_AND_EXPAND, digest, ikm, salt, info, out);
}

void hkdf_expand_sha512(Bytes prk, Bytes info, MutableBytes out) {
  run_hkdf(EVP_KDF_HKDF_MODE_EXPAND_ONLY, "SHA512", prk, {}, info, out);
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
