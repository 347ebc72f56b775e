// OpenSSL's EVP interface for a job, used by the rival and by the oracle.
#pragma once

#include <openssl/evp.h>

#include <memory>

#include "bench/memory/job.hpp"

namespace paraes::bench {

struct FreeEvp {
  void operator()(EVP_CIPHER_CTX* context) const noexcept { EVP_CIPHER_CTX_free(context); }
};
using EvpContext = std::unique_ptr<EVP_CIPHER_CTX, FreeEvp>;

// Throws std::runtime_error with OpenSSL's error message unless `result` is 1.
void evp_check(int result);

// The EVP cipher of the job. Throws Skip for XTS with 192 bits, which does not exist.
[[nodiscard]] const EVP_CIPHER* evp_cipher(const Job& job);

// A context with the job's key, or the one given, expanded, and no padding.
[[nodiscard]] EvpContext evp_context(const Job& job,
                                     const std::uint8_t* key = material().key.data());

// Starts a message with this IV, nonce or tweak. Without a key, the key schedule is kept.
void evp_restart(EVP_CIPHER_CTX* context, const std::uint8_t* iv,
                 const std::uint8_t* key = nullptr);

// Processes any number of bytes, in steps that fit EVP's int sizes.
void evp_update(EVP_CIPHER_CTX* context, const std::uint8_t* in, std::uint8_t* out,
                std::uint64_t bytes);

}  // namespace paraes::bench
