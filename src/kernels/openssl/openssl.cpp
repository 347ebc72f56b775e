// OpenSSL's EVP ciphers behind the kernel interface, for comparison. Each call creates a context,
// because threads cannot share one.

#include <openssl/err.h>
#include <openssl/evp.h>

#include <algorithm>
#include <memory>
#include <string>

#include "paraes/error.hpp"
#include "src/core/counter.hpp"
#include "src/kernels/ghash_portable.hpp"

namespace paraes {
namespace {

struct FreeContext {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};
using Context = std::unique_ptr<EVP_CIPHER_CTX, FreeContext>;

void check(int result, const char* call) {
  if (result == 1) return;
  char text[160] = "no further detail";
  const unsigned long code = ERR_get_error();
  if (code != 0) ERR_error_string_n(code, text, sizeof text);
  throw Error(std::string("OpenSSL: ") + call + " failed: " + text);
}

// EVP_CipherUpdate takes an int as length. A multiple of the block size.
constexpr std::size_t max_update_bytes = std::size_t{1} << 30;

struct Family {
  const EVP_CIPHER* (*aes128)();
  const EVP_CIPHER* (*aes192)();
  const EVP_CIPHER* (*aes256)();
};
constexpr Family ecb = {EVP_aes_128_ecb, EVP_aes_192_ecb, EVP_aes_256_ecb};
constexpr Family cbc = {EVP_aes_128_cbc, EVP_aes_192_cbc, EVP_aes_256_cbc};
constexpr Family ctr = {EVP_aes_128_ctr, EVP_aes_192_ctr, EVP_aes_256_ctr};
constexpr Family gcm = {EVP_aes_128_gcm, EVP_aes_192_gcm, EVP_aes_256_gcm};

Context open(const Family& family, const KeySchedule& schedule, const std::uint8_t* iv,
             int encrypt) {
  Context context(EVP_CIPHER_CTX_new());
  if (context == nullptr) throw Error("OpenSSL: EVP_CIPHER_CTX_new failed: out of memory");
  const EVP_CIPHER* cipher = schedule.key_bytes == 16   ? family.aes128()
                             : schedule.key_bytes == 24 ? family.aes192()
                                                        : family.aes256();
  check(EVP_CipherInit_ex(context.get(), cipher, nullptr, schedule.key, iv, encrypt),
        "EVP_CipherInit_ex");
  EVP_CIPHER_CTX_set_padding(context.get(), 0);
  return context;
}

void update(const Context& context, const std::uint8_t* in, std::uint8_t* out, std::size_t bytes) {
  while (bytes != 0) {
    const std::size_t n = std::min(bytes, max_update_bytes);
    int written = 0;
    check(EVP_CipherUpdate(context.get(), out, &written, in, static_cast<int>(n)),
          "EVP_CipherUpdate");
    in += n;
    out += n;
    bytes -= n;
  }
}

// Only keeps the key: OpenSSL expands it for each context.
void expand(KeySchedule& schedule, const std::uint8_t* key, unsigned key_bytes) {
  std::memcpy(schedule.key, key, key_bytes);
  schedule.key_bytes = key_bytes;
  schedule.rounds = rounds_for(key_bytes);
}

template <int Encrypt>
void ecb_blocks(const KeySchedule& schedule, const std::uint8_t* in, std::uint8_t* out,
                std::size_t blocks) {
  if (blocks == 0) return;
  update(open(ecb, schedule, nullptr, Encrypt), in, out, 16 * blocks);
}

void cbc_encrypt(const KeySchedule& schedule, std::uint8_t chain[16], const std::uint8_t* in,
                 std::uint8_t* out, std::size_t blocks) {
  if (blocks == 0) return;
  update(open(cbc, schedule, chain, 1), in, out, 16 * blocks);
  std::memcpy(chain, out + 16 * (blocks - 1), 16);
}

void cbc_decrypt(const KeySchedule& schedule, std::uint8_t chain[16], const std::uint8_t* in,
                 std::uint8_t* out, std::size_t blocks) {
  if (blocks == 0) return;
  std::uint8_t last[16];
  std::memcpy(last, in + 16 * (blocks - 1), 16);
  update(open(cbc, schedule, chain, 0), in, out, 16 * blocks);
  std::memcpy(chain, last, 16);
}

void ctr_blocks(const KeySchedule& schedule, std::uint8_t counter[16], const std::uint8_t* in,
                std::uint8_t* out, std::size_t blocks) {
  if (blocks == 0) return;
  update(open(ctr, schedule, counter, 1), in, out, 16 * blocks);
  add_be128(counter, blocks);
}

bool feed_gcm(const Context& context, const GcmMessage& message) {
  const std::uint8_t* aad = message.aad;
  std::size_t aad_bytes = message.aad_bytes;
  while (aad_bytes != 0) {
    const std::size_t n = std::min(aad_bytes, max_update_bytes);
    int written = 0;
    check(EVP_CipherUpdate(context.get(), nullptr, &written, aad, static_cast<int>(n)),
          "EVP_CipherUpdate");
    aad += n;
    aad_bytes -= n;
  }
  update(context, message.in, message.out, message.bytes);
  std::uint8_t nothing[16];
  int written = 0;
  return EVP_CipherFinal_ex(context.get(), nothing, &written) == 1;
}

Context open_gcm(const KeySchedule& schedule, const GcmMessage& message, int encrypt) {
  Context context = open(gcm, schedule, nullptr, encrypt);
  check(EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_SET_IVLEN,
                            static_cast<int>(message.nonce_bytes), nullptr),
        "EVP_CTRL_AEAD_SET_IVLEN");
  check(EVP_CipherInit_ex(context.get(), nullptr, nullptr, nullptr, message.nonce, encrypt),
        "EVP_CipherInit_ex");
  return context;
}

void gcm_seal(const KeySchedule& schedule, const GhashKey&, const GcmMessage& message) {
  const Context context = open_gcm(schedule, message, 1);
  check(feed_gcm(context, message) ? 1 : 0, "EVP_CipherFinal_ex");
  check(EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_GET_TAG, 16, message.tag),
        "EVP_CTRL_AEAD_GET_TAG");
}

bool gcm_open(const KeySchedule& schedule, const GhashKey&, const GcmMessage& message) {
  const Context context = open_gcm(schedule, message, 0);
  std::uint8_t expected[16];
  std::memcpy(expected, message.expected_tag, message.tag_bytes);
  check(EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_SET_TAG,
                            static_cast<int>(message.tag_bytes), expected),
        "EVP_CTRL_AEAD_SET_TAG");
  const bool intact = feed_gcm(context, message);
  ERR_clear_error();  // OpenSSL records a wrong tag as an error
  return intact;
}

}  // namespace

const Kernel openssl_kernel = {
    .name = "openssl",
    .timing = Timing::library,
    .expand = expand,
    .ecb_encrypt = ecb_blocks<1>,
    .ecb_decrypt = ecb_blocks<0>,
    .cbc_encrypt = cbc_encrypt,
    .cbc_decrypt = cbc_decrypt,
    .ctr = ctr_blocks,
    // XTS is composed from ECB: EVP's needs both keys, and processes one data unit per call.
    // EVP has no GHASH. The portable one is for messages that gcm_seal and gcm_open cannot process.
    .ghash_init = ghash_portable_init,
    .ghash = ghash_portable,
    .gcm_seal = gcm_seal,
    .gcm_open = gcm_open,
};

}  // namespace paraes
