// AES-CTR as SUPERCOP calls it (crypto_stream): the nonce is the first counter block, which counts
// as one number of 128 bits. write.py copies this file beside the sources of one kernel.

#if __cplusplus < 202002L
#error "paraes is C++20: add -std=gnu++20 to the lines of SUPERCOP's okcompilers/cpp"
#endif

#include <api.h>
#include <crypto_stream.h>
#include <implementation.h>
#include "src/modes/ctr.hpp"

static_assert(CRYPTO_NONCEBYTES == 16);

namespace {
// A kernel that the processor lacks ends in an error that SUPERCOP prints, and not in SIGILL.
const bool is_usable = paraes::reported_cpu_features().contains(PARAES_KERNEL.needs);
}  // namespace

int crypto_stream_xor(unsigned char* c, const unsigned char* m, unsigned long long mlen,
                      const unsigned char* n, const unsigned char* k) {
  if (!is_usable) return -1;
  const paraes::CipherKey key(PARAES_KERNEL, k, CRYPTO_KEYBYTES);
  paraes::ctr_range(key, n, 0, m, c, mlen);
  return 0;
}

int crypto_stream(unsigned char* c, unsigned long long clen, const unsigned char* n,
                  const unsigned char* k) {
  if (clen != 0) std::memset(c, 0, clen);
  return crypto_stream_xor(c, c, clen, n, k);
}
