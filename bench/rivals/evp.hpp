// The EVP interface of a libcrypto for a job, used by the rivals and by the oracle.
#pragma once

#include <openssl/err.h>
#include <openssl/evp.h>

#include <memory>
#include <string>

#include "bench/memory/job.hpp"

namespace paraes::bench {

// OpenSSL has them since 1.1.0.
struct EvpFunctions {
  using Getter = const EVP_CIPHER* (*)();
  static constexpr unsigned modes = 5;
  static constexpr unsigned key_sizes = 3;

  decltype(&EVP_CIPHER_CTX_new) new_context = nullptr;
  decltype(&EVP_CIPHER_CTX_free) free_context = nullptr;
  decltype(&EVP_CIPHER_CTX_set_padding) set_padding = nullptr;
  decltype(&EVP_CIPHER_CTX_ctrl) control = nullptr;
  decltype(&EVP_CipherInit_ex) init = nullptr;
  decltype(&EVP_CipherUpdate) update = nullptr;
  decltype(&EVP_CipherFinal_ex) final = nullptr;
  decltype(&ERR_get_error) get_error = nullptr;
  decltype(&ERR_error_string_n) error_text = nullptr;
  const char* (*version)(int) = nullptr;  // OpenSSL_version
  Getter ciphers[modes][key_sizes] = {};  // EVP_aes_128_ecb and so on; null where there is none
};

struct FreeEvp {
  decltype(&EVP_CIPHER_CTX_free) free = nullptr;
  void operator()(EVP_CIPHER_CTX* context) const noexcept { free(context); }
};
using EvpContext = std::unique_ptr<EVP_CIPHER_CTX, FreeEvp>;

// One libcrypto. All functions throw std::runtime_error, with its error message, if a call fails.
// Contexts belong to the libcrypto that made them.
class Evp {
 public:
  // The one that paraes is linked to.
  [[nodiscard]] static const Evp& linked();

  // Opens a libcrypto file for the rest of the process, apart from the one that paraes is linked
  // to. Throws InvalidArgument with the reason if that is not possible.
  explicit Evp(const std::string& path);

  // "OpenSSL 3.5.8 25 Aug 2026", "AWS-LC 1.30.0".
  [[nodiscard]] std::string version() const;

  // A context with the job's key, or the one given, expanded, and no padding. Throws Skip for a
  // cipher that does not exist, or not in this libcrypto.
  [[nodiscard]] EvpContext context(const Job& job,
                                   const std::uint8_t* key = material().key.data()) const;

  // Starts a message with this IV, nonce or tweak. Without a key, the key schedule is kept; without
  // an IV, only a key is set.
  void restart(EVP_CIPHER_CTX* context, const std::uint8_t* iv,
               const std::uint8_t* key = nullptr) const;

  // Processes any number of bytes, in steps that fit EVP's int sizes.
  void update(EVP_CIPHER_CTX* context, const std::uint8_t* in, std::uint8_t* out,
              std::uint64_t bytes) const;

  // Ends a GCM message: writes its tag, or checks that its tag is this one.
  void get_tag(EVP_CIPHER_CTX* context, std::uint8_t* tag) const;
  void check_tag(EVP_CIPHER_CTX* context, const std::uint8_t* tag) const;

 private:
  explicit Evp(const EvpFunctions& functions) : functions_(functions) {}
  void check(int result) const;
  [[nodiscard]] const EVP_CIPHER* cipher(const Job& job) const;

  EvpFunctions functions_;
};

}  // namespace paraes::bench
