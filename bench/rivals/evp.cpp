#include "bench/rivals/evp.hpp"

#include <openssl/err.h>

#include <algorithm>
#include <stdexcept>

#include "bench/harness/case.hpp"

namespace paraes::bench {

void evp_check(int result) {
  if (result == 1) return;
  char text[256];
  ERR_error_string_n(ERR_get_error(), text, sizeof text);
  throw std::runtime_error(std::string("OpenSSL: ") + text);
}

const EVP_CIPHER* evp_cipher(const Job& job) {
  using Getter = const EVP_CIPHER* (*)();
  static constexpr Getter getters[][3] = {
      {EVP_aes_128_ecb, EVP_aes_192_ecb, EVP_aes_256_ecb},
      {EVP_aes_128_cbc, EVP_aes_192_cbc, EVP_aes_256_cbc},
      {EVP_aes_128_ctr, EVP_aes_192_ctr, EVP_aes_256_ctr},
      {EVP_aes_128_xts, nullptr, EVP_aes_256_xts},
      {EVP_aes_128_gcm, EVP_aes_192_gcm, EVP_aes_256_gcm},
  };
  const Getter getter = getters[static_cast<unsigned>(job.mode.value())][(job.key_bits - 128) / 64];
  if (getter == nullptr) throw Skip("XTS has no AES-192 (SP 800-38E section 3)");
  return getter();
}

EvpContext evp_context(const Job& job, const std::uint8_t* key) {
  EvpContext context(EVP_CIPHER_CTX_new());
  const int encrypt = job.direction == Direction::encrypt ? 1 : 0;
  evp_check(EVP_CipherInit_ex(context.get(), evp_cipher(job), nullptr, key, nullptr, encrypt));
  evp_check(EVP_CIPHER_CTX_set_padding(context.get(), 0));
  return context;
}

void evp_restart(EVP_CIPHER_CTX* context, const std::uint8_t* iv, const std::uint8_t* key) {
  evp_check(EVP_CipherInit_ex(context, nullptr, nullptr, key, iv, -1));
}

void evp_update(EVP_CIPHER_CTX* context, const std::uint8_t* in, std::uint8_t* out,
                std::uint64_t bytes) {
  while (bytes > 0) {
    const auto step = static_cast<int>(std::min<std::uint64_t>(bytes, 1U << 30));
    int written = 0;
    evp_check(EVP_CipherUpdate(context, out, &written, in, step));
    if (written != step) throw std::runtime_error("OpenSSL wrote fewer bytes than it read");
    in += step;
    out += step;
    bytes -= static_cast<std::uint64_t>(step);
  }
}

}  // namespace paraes::bench
