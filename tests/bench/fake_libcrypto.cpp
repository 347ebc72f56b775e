// A stand-in for a libcrypto of another version, without ciphers. With PARAES_FAKE_OLD it lacks a
// function, as those before 1.1.0 do.
#include <cstddef>

#pragma GCC diagnostic ignored "-Wmissing-declarations"

extern "C" {

// The libcrypto of the process also has this function, with another result.
unsigned OPENSSL_version_major() { return 99; }

#ifndef PARAES_FAKE_OLD
const char* OpenSSL_version(int /*type*/) {
  // Found by name, not inlined.
  unsigned (*volatile const major)() = OPENSSL_version_major;
  return major() == 99 ? "OpenSSL 99.0.1-fake 1 Jan 2099" : "mixed up";
}
#endif

void* EVP_CIPHER_CTX_new() { return nullptr; }
void EVP_CIPHER_CTX_free(void* /*context*/) {}
int EVP_CIPHER_CTX_set_padding(void* /*context*/, int /*pad*/) { return 1; }
int EVP_CIPHER_CTX_ctrl(void* /*context*/, int /*type*/, int /*arg*/, void* /*ptr*/) { return 0; }
int EVP_CipherInit_ex() { return 0; }
int EVP_CipherUpdate() { return 0; }
int EVP_CipherFinal_ex() { return 0; }
unsigned long ERR_get_error() { return 0; }
void ERR_error_string_n(unsigned long /*error*/, char* /*text*/, std::size_t /*size*/) {}
}
