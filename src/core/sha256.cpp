#include "paraes/sha256.hpp"

#include <openssl/evp.h>

#include "paraes/error.hpp"

namespace paraes {

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  if (context_ == nullptr || EVP_DigestInit_ex(context_, EVP_sha256(), nullptr) != 1) {
    EVP_MD_CTX_free(context_);
    throw Error("libcrypto has no SHA-256");
  }
}

Sha256::~Sha256() { EVP_MD_CTX_free(context_); }

Sha256& Sha256::add(const void* data, std::size_t bytes) {
  EVP_DigestUpdate(context_, data, bytes);
  return *this;
}

Sha256& Sha256::add_part(std::string_view part) {
  const std::uint64_t bytes = part.size();
  return add(&bytes, sizeof bytes).add(part.data(), part.size());
}

Sha256::Digest Sha256::digest() {
  Digest digest{};
  EVP_DigestFinal_ex(context_, digest.data(), nullptr);
  return digest;
}

}  // namespace paraes
