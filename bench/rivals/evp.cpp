#include "bench/rivals/evp.hpp"

#include <openssl/crypto.h>

#include <algorithm>
#include <stdexcept>

#include "bench/harness/case.hpp"
#include "bench/rivals/library_file.hpp"
#include "paraes/error.hpp"

namespace paraes::bench {
namespace {

std::string cipher_name(unsigned mode, unsigned key_size) {
  return "EVP_aes_" + std::to_string(128 + 64 * key_size) + "_" +
         std::string(to_string(all_modes[mode]));
}

// Calls set(pointer, function, name) for each function but those of ciphers.
EvpFunctions functions_by(const auto& set) {
  EvpFunctions f;
  set(f.new_context, EVP_CIPHER_CTX_new, "EVP_CIPHER_CTX_new");
  set(f.free_context, EVP_CIPHER_CTX_free, "EVP_CIPHER_CTX_free");
  set(f.set_padding, EVP_CIPHER_CTX_set_padding, "EVP_CIPHER_CTX_set_padding");
  set(f.control, EVP_CIPHER_CTX_ctrl, "EVP_CIPHER_CTX_ctrl");
  set(f.init, EVP_CipherInit_ex, "EVP_CipherInit_ex");
  set(f.update, EVP_CipherUpdate, "EVP_CipherUpdate");
  set(f.final, EVP_CipherFinal_ex, "EVP_CipherFinal_ex");
  set(f.get_error, ERR_get_error, "ERR_get_error");
  set(f.error_text, ERR_error_string_n, "ERR_error_string_n");
  set(f.version, OpenSSL_version, "OpenSSL_version");
  return f;
}

EvpFunctions linked_functions() {
  EvpFunctions f =
      functions_by([](auto& pointer, auto* function, const char* /*name*/) { pointer = function; });
  constexpr EvpFunctions::Getter ciphers[EvpFunctions::modes][EvpFunctions::key_sizes] = {
      {EVP_aes_128_ecb, EVP_aes_192_ecb, EVP_aes_256_ecb},
      {EVP_aes_128_cbc, EVP_aes_192_cbc, EVP_aes_256_cbc},
      {EVP_aes_128_ctr, EVP_aes_192_ctr, EVP_aes_256_ctr},
      {EVP_aes_128_xts, nullptr, EVP_aes_256_xts},
      {EVP_aes_128_gcm, EVP_aes_192_gcm, EVP_aes_256_gcm},
  };
  for (unsigned m = 0; m < EvpFunctions::modes; ++m) {
    std::copy(std::begin(ciphers[m]), std::end(ciphers[m]), f.ciphers[m]);
  }
  return f;
}

EvpFunctions functions_of_file(const std::string& path) {
  if (path.empty()) {
    throw InvalidArgument("--rivals: openssl-evp@ needs a libcrypto file behind it");
  }
  const LibraryFile file("--rivals", path, Apart::required);
  EvpFunctions f = functions_by([&](auto& pointer, auto* /*linked*/, const char* name) {
    file.find(pointer, name);
    if (pointer == nullptr) {
      file.refuse(std::string("it has no ") + name + ": it is no libcrypto, or older than 1.1.0");
    }
  });
  for (unsigned m = 0; m < EvpFunctions::modes; ++m) {
    for (unsigned k = 0; k < EvpFunctions::key_sizes; ++k) {
      file.find(f.ciphers[m][k], cipher_name(m, k));
    }
  }
  return f;
}

}  // namespace

const Evp& Evp::linked() {
  static const Evp evp(linked_functions());
  return evp;
}

Evp::Evp(const std::string& path) : functions_(functions_of_file(path)) {}

std::string Evp::version() const { return functions_.version(OPENSSL_VERSION); }

void Evp::check(int result) const {
  if (result == 1) return;
  char text[256];
  functions_.error_text(functions_.get_error(), text, sizeof text);
  throw std::runtime_error(version() + ": " + text);
}

const EVP_CIPHER* Evp::cipher(const Job& job) const {
  const auto mode = static_cast<unsigned>(job.mode.value());
  const auto key_size = static_cast<unsigned>((job.key_bits - 128) / 64);
  const EvpFunctions::Getter getter = functions_.ciphers[mode][key_size];
  if (getter == nullptr) throw Skip(version() + " has no " + cipher_name(mode, key_size));
  return getter();
}

EvpContext Evp::context(const Job& job, const std::uint8_t* key) const {
  const EVP_CIPHER* const type = cipher(job);
  EvpContext context(functions_.new_context(), FreeEvp{functions_.free_context});
  const int encrypt = job.direction == Direction::encrypt ? 1 : 0;
  check(functions_.init(context.get(), type, nullptr, key, nullptr, encrypt));
  check(functions_.set_padding(context.get(), 0));
  return context;
}

void Evp::restart(EVP_CIPHER_CTX* context, const std::uint8_t* iv, const std::uint8_t* key) const {
  check(functions_.init(context, nullptr, nullptr, key, iv, -1));
}

void Evp::update(EVP_CIPHER_CTX* context, const std::uint8_t* in, std::uint8_t* out,
                 std::uint64_t bytes) const {
  while (bytes > 0) {
    const auto step = static_cast<int>(std::min<std::uint64_t>(bytes, 1U << 30));
    int written = 0;
    check(functions_.update(context, out, &written, in, step));
    if (written != step) throw std::runtime_error("OpenSSL wrote fewer bytes than it read");
    in += step;
    out += step;
    bytes -= static_cast<std::uint64_t>(step);
  }
}

void Evp::get_tag(EVP_CIPHER_CTX* context, std::uint8_t* tag) const {
  std::uint8_t nothing[16];
  int written = 0;
  check(functions_.final(context, nothing, &written));
  check(functions_.control(context, EVP_CTRL_AEAD_GET_TAG, tag_bytes, tag));
}

void Evp::check_tag(EVP_CIPHER_CTX* context, const std::uint8_t* tag) const {
  // EVP only reads it.
  check(functions_.control(context, EVP_CTRL_AEAD_SET_TAG, tag_bytes,
                           const_cast<std::uint8_t*>(tag)));
  std::uint8_t nothing[16];
  int written = 0;
  if (functions_.final(context, nothing, &written) != 1) {
    throw std::runtime_error(version() + ": the GCM tag does not match");
  }
}

}  // namespace paraes::bench
