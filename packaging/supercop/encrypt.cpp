// AES-GCM as SUPERCOP calls it (crypto_aead). write.py copies this file beside the sources of one
// kernel. Each call expands the key, as SUPERCOP's interface has it.

#if __cplusplus < 202002L
#error "paraes is C++20: add -std=gnu++20 to the lines of SUPERCOP's okcompilers/cpp"
#endif

#include <api.h>
#include <crypto_aead.h>
#include <implementation.h>
#include "src/core/counter.hpp"
#include "src/modes/gcm.hpp"

namespace paraes {
namespace {

static_assert(CRYPTO_NPUBBYTES == 12 && CRYPTO_NSECBYTES == 0 && CRYPTO_ABYTES == 16);

// A kernel that the processor lacks ends in an error that SUPERCOP prints, and not in SIGILL.
const bool is_usable = reported_cpu_features().contains(PARAES_KERNEL.needs);

// Encrypts or decrypts by the operations that the kernel has, and computes the tag.
void crypt(const GcmKey& key, Direction direction, const GcmMessage& message,
           std::uint8_t tag[16]) {
  gcm_message(key, message, tag, [&](const GcmCounter& j0, std::uint8_t state[16]) {
    GcmCounter counter = j0;
    add_be32(counter.block, 1);
    gcm_range(key, direction, counter, state, message.in, message.out, message.bytes);
  });
}

void seal(const GcmKey& key, const GcmMessage& message) {
  if (PARAES_KERNEL.gcm_seal != nullptr) {
    PARAES_KERNEL.gcm_seal(key.cipher.schedule, key.hash, message);
  } else {
    crypt(key, Direction::encrypt, message, message.tag);
  }
}

bool open(const GcmKey& key, const GcmMessage& message) {
  if (PARAES_KERNEL.gcm_open != nullptr) {
    return PARAES_KERNEL.gcm_open(key.cipher.schedule, key.hash, message);
  }
  std::uint8_t computed[16];
  crypt(key, Direction::decrypt, message, computed);
  return verify_and_wipe_tag(computed, message);
}

GcmMessage message_of(const unsigned char* npub, const unsigned char* ad, unsigned long long adlen,
                      const unsigned char* in, unsigned char* out, unsigned long long bytes) {
  return {.nonce = npub,
          .nonce_bytes = CRYPTO_NPUBBYTES,
          .aad = ad,
          .aad_bytes = static_cast<std::size_t>(adlen),
          .in = in,
          .out = out,
          .bytes = static_cast<std::size_t>(bytes),
          .tag = nullptr,
          .expected_tag = nullptr,
          .tag_bytes = CRYPTO_ABYTES};
}

}  // namespace

// The library's own is in a file with its locked memory, which no kernel needs.
bool constant_time_equal(std::span<const std::uint8_t> a,
                         std::span<const std::uint8_t> b) noexcept {
  if (a.size() != b.size()) return false;
  std::uint8_t difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<std::uint8_t>(a[i] ^ b[i]);
    __asm__ volatile("" : "+r"(difference));  // hides the value from the optimizer
  }
  return difference == 0;
}

}  // namespace paraes

int crypto_aead_encrypt(unsigned char* c, unsigned long long* clen, const unsigned char* m,
                        unsigned long long mlen, const unsigned char* ad, unsigned long long adlen,
                        const unsigned char*, const unsigned char* npub, const unsigned char* k) {
  using namespace paraes;
  if (!is_usable || mlen > gcm_max_text_bytes || adlen > gcm_max_aad_bytes) return -1;
  const GcmKey key(PARAES_KERNEL, k, CRYPTO_KEYBYTES);
  GcmMessage message = message_of(npub, ad, adlen, m, c, mlen);
  message.tag = c + mlen;
  seal(key, message);
  *clen = mlen + CRYPTO_ABYTES;
  return 0;
}

int crypto_aead_decrypt(unsigned char* m, unsigned long long* mlen, unsigned char*,
                        const unsigned char* c, unsigned long long clen, const unsigned char* ad,
                        unsigned long long adlen, const unsigned char* npub,
                        const unsigned char* k) {
  using namespace paraes;
  if (!is_usable || clen < CRYPTO_ABYTES || clen - CRYPTO_ABYTES > gcm_max_text_bytes ||
      adlen > gcm_max_aad_bytes) {
    return -1;
  }
  const GcmKey key(PARAES_KERNEL, k, CRYPTO_KEYBYTES);
  GcmMessage message = message_of(npub, ad, adlen, c, m, clen - CRYPTO_ABYTES);
  message.expected_tag = c + message.bytes;
  if (!open(key, message)) {
    secure_zero(m, message.bytes);  // plaintext that is not authentic
    return -1;
  }
  *mlen = message.bytes;
  return 0;
}
