// PBKDF2 and scrypt: the vectors of RFC 7914. HKDF, and PBKDF2 of few rounds, beside OpenSSL's EVP
// over many sizes.

#include "paraes/kdf.hpp"

#include <gtest/gtest.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <vector>

#include "paraes/error.hpp"
#include "tests/support/buffers.hpp"
#include "tests/support/environment.hpp"
#include "tests/support/hex.hpp"

namespace paraes {
namespace {

using Text = std::vector<std::uint8_t>;

Text text_of(std::string_view text) { return {text.begin(), text.end()}; }

// A hash, its EVP name and the size of its digest.
struct HashCase {
  HkdfHash hash;
  const char* name;
  std::size_t digest_bytes;
};
constexpr HashCase hash_cases[] = {{HkdfHash::sha1, "SHA1", 20},
                                   {HkdfHash::sha256, "SHA256", 32},
                                   {HkdfHash::sha512, "SHA512", 64}};

OSSL_PARAM octets(const char* name, const Text& bytes) {
  static std::uint8_t none = 0;
  void* data = bytes.empty() ? &none : const_cast<std::uint8_t*>(bytes.data());
  return OSSL_PARAM_construct_octet_string(name, data, bytes.size());
}

Text evp_hkdf(int mode, const char* digest, const Text& key, const Text& salt, const Text& info,
              std::size_t bytes) {
  EVP_KDF* kdf = EVP_KDF_fetch(nullptr, "HKDF", nullptr);
  EVP_KDF_CTX* context = EVP_KDF_CTX_new(kdf);
  const OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_int(OSSL_KDF_PARAM_MODE, &mode),
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, const_cast<char*>(digest), 0),
      octets(OSSL_KDF_PARAM_KEY, key),
      octets(OSSL_KDF_PARAM_INFO, info),
      octets(OSSL_KDF_PARAM_SALT, salt),
      OSSL_PARAM_construct_end()};
  Text out(bytes);
  EXPECT_EQ(EVP_KDF_derive(context, out.data(), out.size(), parameters), 1);
  EVP_KDF_CTX_free(context);
  EVP_KDF_free(kdf);
  return out;
}

TEST(Hkdf, MatchesEvpForEverySize) {
  for (const HashCase& test : hash_cases) {
    // Sizes around the digest and block of each hash, where HMAC hashes or pads its key.
    for (const std::size_t size : {1, 19, 20, 21, 31, 32, 33, 63, 64, 65, 127, 128, 129, 300}) {
      const Text key = support::make_key(size, 1);
      const Text salt = support::make_key(300 - size, 2);
      const Text info = size == 1 ? Text() : support::make_key(7 * size, 3);
      const std::size_t bytes = std::min(2 * size, 255 * test.digest_bytes);
      Text ours(bytes);
      hkdf(test.hash, key, salt, info, ours);
      ASSERT_EQ(ours,
                evp_hkdf(EVP_KDF_HKDF_MODE_EXTRACT_AND_EXPAND, test.name, key, salt, info, bytes))
          << test.name << ' ' << size;
    }
  }
  for (const std::size_t bytes : {1, 63, 64, 65, 128, 129, 255 * 64}) {
    const Text key = support::make_key(32, 4);
    const Text info = support::make_key(100, 5);
    Text ours(bytes);
    hkdf_expand_sha512(key, info, ours);
    ASSERT_EQ(ours, evp_hkdf(EVP_KDF_HKDF_MODE_EXPAND_ONLY, "SHA512", key, {}, info, bytes));
  }
}

TEST(Hkdf, SizesThatHkdfCannotMakeThrow) {
  for (const HashCase& test : hash_cases) {
    Text none;
    Text most(255 * test.digest_bytes);
    Text more(most.size() + 1);
    EXPECT_THROW(hkdf(test.hash, Text(16), {}, {}, none), InvalidArgument);
    EXPECT_THROW(hkdf(test.hash, Text(16), {}, {}, more), InvalidArgument);
    EXPECT_NO_THROW(hkdf(test.hash, Text(16), {}, {}, most));
  }
}

TEST(Pbkdf2, MatchesEvpForShortSecrets) {
  for (const std::size_t size : {0, 1, 8, 64, 65}) {
    const Text passphrase = size == 0 ? Text() : support::make_key(size, 1);
    const Text salt = size == 0 ? Text() : support::make_key(size, 2);
    Text ours(1 + size);
    Text theirs(ours.size());
    pbkdf2_sha256(passphrase, salt, 3, ours);
    const char* text = size == 0 ? "" : reinterpret_cast<const char*>(passphrase.data());
    ASSERT_EQ(PKCS5_PBKDF2_HMAC(text, static_cast<int>(size), salt.data(), static_cast<int>(size),
                                3, EVP_sha256(), static_cast<int>(theirs.size()), theirs.data()),
              1);
    EXPECT_EQ(ours, theirs) << size;
  }
}

// The command's tests compare it with openssl.
TEST(EvpBytesToKey, SizesThatItDoesNotMake_AreRefused) {
  const auto make = [](std::size_t salt, std::size_t key, std::size_t iv) {
    Text key_bytes(key);
    Text iv_bytes(iv);
    evp_bytes_to_key(Digest::md5, text_of("word"), Text(salt), key_bytes, iv_bytes);
  };
  for (const std::size_t key : {16, 24, 32}) EXPECT_NO_THROW(make(8, key, 16));
  EXPECT_THROW(make(7, 16, 16), InvalidArgument);
  EXPECT_THROW(make(8, 17, 16), InvalidArgument);
  EXPECT_THROW(make(8, 0, 16), InvalidArgument);
  EXPECT_THROW(make(8, 16, 12), InvalidArgument);
}

// The first block of EVP_BytesToKey is the hash of passphrase and salt.
TEST(EvpBytesToKey, EmptyPassphrase_HashesTheSalt) {
  const Text salt = support::make_key(8, 1);
  Text key(16);
  Text iv(16);
  evp_bytes_to_key(Digest::md5, {}, salt, key, iv);
  Text hash(16);
  unsigned size = 0;
  ASSERT_EQ(EVP_Digest(salt.data(), salt.size(), hash.data(), &size, EVP_md5(), nullptr), 1);
  EXPECT_EQ(key, hash);
}

// RFC 7914 section 12, the vector with r = 8 and p = 1.
TEST(Scrypt, MatchesRfc7914) {
  Text out(64);
  scrypt(text_of("pleaseletmein"), text_of("SodiumChloride"), 14, out);
  EXPECT_EQ(support::to_hex(out),
            "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2"
            "d5432955613f0fcf62d49705242a9af9e61e85dc0d651e40dfcf017b45575887");
}

TEST(Scrypt, ImpossibleCosts_AreRefused) {
  Text out(64);
  EXPECT_THROW(scrypt({}, {}, 0, out), InvalidArgument);
  EXPECT_THROW(scrypt({}, {}, 41, out), InvalidArgument);
}

// libcrypto refuses to start once it has freed its memory.
void exit_with_0_if_libcrypto_can_start() {
  std::_Exit(OPENSSL_init_crypto(0, nullptr) == 1 ? 0 : 2);
}

TEST(IgnoreOpensslConfiguration, LibcryptoFreesNothingAtExit) {
  // A new process, because other tests may have started libcrypto. The emulators cannot start one;
  // there, ctest runs no other test in this process.
  testing::GTEST_FLAG(death_test_style) = support::is_emulated() ? "fast" : "threadsafe";
  const auto child = [] {
    // Functions are called in the reverse order, so this one after those of libcrypto.
    if (std::atexit(exit_with_0_if_libcrypto_can_start) != 0) std::exit(3);
    ignore_openssl_configuration();
    std::exit(4);
  };
  EXPECT_EXIT(child(), testing::ExitedWithCode(0), "");
}

// 2^25 bytes are more than one call of the system returns.
TEST(RandomBytes, FillEveryByte) {
  Text out((std::size_t{1} << 25) + 5);
  random_bytes(out);
  constexpr std::size_t piece = 16;
  std::set<Text> seen;
  for (std::size_t at = 0; at + piece <= out.size(); at += out.size() / 512) {
    const auto start = out.begin() + static_cast<std::ptrdiff_t>(at);
    EXPECT_TRUE(seen.emplace(start, start + piece).second) << at;
  }
  const Text end(out.end() - piece, out.end());
  EXPECT_NE(end, Text(piece)) << "the end was not filled";
  random_bytes({});
}

}  // namespace
}  // namespace paraes
