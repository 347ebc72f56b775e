// OpenSSL's EVP by the job: shared by the rival and by the oracle.
#pragma once

#include <openssl/evp.h>

#include <memory>

#include "bench/memory/job.hpp"

namespace paraes::bench {

struct FreeEvp {
  void operator()(EVP_CIPHER_CTX* context) const noexcept { EVP_CIPHER_CTX_free(context); }
};
using EvpContext = std::unique_ptr<EVP_CIPHER_CTX, FreeEvp>;

// Throws std::runtime_error with OpenSSL's own words unless `result` is 1.
void evp_check(int result);

// The EVP cipher of the job; throws Skip where OpenSSL has none (XTS with 192 bits).
[[nodiscard]] const EVP_CIPHER* evp_cipher(const Job& job);

// A context with the job's key and no padding.
[[nodiscard]] EvpContext evp_context(const Job& job);

// Next message: the key schedule stays.
void evp_restart(EVP_CIPHER_CTX* context, const std::uint8_t* iv);

// Any number of bytes (EVP counts in int).
void evp_update(EVP_CIPHER_CTX* context, const std::uint8_t* in, std::uint8_t* out,
                std::uint64_t bytes);

}  // namespace paraes::bench
