// Calls an implementation of crypto_aead as SUPERCOP's try program does. Each line of standard
// input is a case: key, nonce, associated data, plaintext, and ciphertext with its tag.

#include <crypto_aead.h>

#include "try.hpp"

namespace {

struct Case {
  Text key, nonce, aad, plain, sealed;
};

int seal(unsigned char* c, unsigned long long* clen, const unsigned char* m, const Case& it,
         const unsigned char* aad, const unsigned char* nonce, const unsigned char* key) {
  return crypto_aead_encrypt(c, clen, m, it.plain.size(), aad, it.aad.size(), nullptr, nonce, key);
}

int open(unsigned char* m, unsigned long long* mlen, const unsigned char* c, const Case& it,
         const unsigned char* aad, const unsigned char* nonce, const unsigned char* key) {
  return crypto_aead_decrypt(m, mlen, nullptr, c, it.sealed.size(), aad, it.aad.size(), nonce, key);
}

void try_encryption(const Case& it) {
  Guarded c(it.sealed.size());
  Guarded m(it.plain), aad(it.aad), nonce(it.nonce), key(it.key);
  unsigned long long clen = 0;
  check(seal(c.data(), &clen, m.data(), it, aad.data(), nonce.data(), key.data()) == 0,
        "crypto_aead_encrypt returns nonzero");
  check(clen == it.sealed.size(), "crypto_aead_encrypt returns a wrong length");
  check(c.text() == it.sealed, "crypto_aead_encrypt gives wrong bytes");
  c.check_canaries("crypto_aead_encrypt writes beside its output");
  check(m.text() == it.plain && aad.text() == it.aad && nonce.text() == it.nonce &&
            key.text() == it.key,
        "crypto_aead_encrypt changes an input");
}

void try_decryption(const Case& it) {
  Guarded m(it.plain.size());
  Guarded c(it.sealed), aad(it.aad), nonce(it.nonce), key(it.key);
  unsigned long long mlen = 0;
  check(open(m.data(), &mlen, c.data(), it, aad.data(), nonce.data(), key.data()) == 0,
        "crypto_aead_decrypt returns nonzero");
  check(mlen == it.plain.size(), "crypto_aead_decrypt returns a wrong length");
  check(m.text() == it.plain, "crypto_aead_decrypt gives wrong bytes");
  m.check_canaries("crypto_aead_decrypt writes beside its output");
  check(c.text() == it.sealed && aad.text() == it.aad && nonce.text() == it.nonce &&
            key.text() == it.key,
        "crypto_aead_decrypt changes an input");
}

// An input that lies where the output begins. SUPERCOP tries this unless CRYPTO_NOOVERLAP is 1.
void try_overlaps(const Case& it) {
  const auto joined = [&](const Text& input) {
    Text text = input;
    text.resize(std::max(input.size(), it.sealed.size()), 0xa5);
    return Guarded(text);
  };
  unsigned long long bytes = 0;
  const unsigned char* const aad = it.aad.data();
  const unsigned char* const nonce = it.nonce.data();
  const unsigned char* const key = it.key.data();
  const auto sealed = [&](Guarded& out, int status, const char* what) {
    check(status == 0 && out.first(it.sealed.size()) == it.sealed, what);
  };
  Guarded m = joined(it.plain), a = joined(it.aad), n = joined(it.nonce), k = joined(it.key);
  sealed(m, seal(m.data(), &bytes, m.data(), it, aad, nonce, key), "encrypts m = c wrongly");
  sealed(a, seal(a.data(), &bytes, it.plain.data(), it, a.data(), nonce, key),
         "encrypts ad = c wrongly");
  sealed(n, seal(n.data(), &bytes, it.plain.data(), it, aad, n.data(), key),
         "encrypts npub = c wrongly");
  sealed(k, seal(k.data(), &bytes, it.plain.data(), it, aad, nonce, k.data()),
         "encrypts k = c wrongly");

  const unsigned char* const c = it.sealed.data();
  const auto opened = [&](Guarded& out, int status, const char* what) {
    check(status == 0 && out.first(it.plain.size()) == it.plain, what);
  };
  Guarded t = joined(it.sealed);
  a = joined(it.aad), n = joined(it.nonce), k = joined(it.key);
  opened(t, open(t.data(), &bytes, t.data(), it, aad, nonce, key), "decrypts m = c wrongly");
  opened(a, open(a.data(), &bytes, c, it, a.data(), nonce, key), "decrypts ad = m wrongly");
  opened(n, open(n.data(), &bytes, c, it, aad, n.data(), key), "decrypts npub = m wrongly");
  opened(k, open(k.data(), &bytes, c, it, aad, nonce, k.data()), "decrypts k = m wrongly");
}

// Refused, and without a byte of the plaintext.
void refuses(const Case& it, const char* what) {
  Guarded m(it.plain.size());
  unsigned long long mlen = 0;
  check(open(m.data(), &mlen, it.sealed.data(), it, it.aad.data(), it.nonce.data(),
             it.key.data()) != 0,
        what);
  m.check_canaries("a refused decryption writes beside its output");
  for (const unsigned char byte : m.text()) check(byte == 0, "a refused decryption leaves a text");
}

void try_forgeries(const Case& it) {
  for (std::size_t i = 0; i < it.sealed.size(); ++i) {
    if (i + 16 < it.sealed.size() && i % 61 != 0) continue;  // every byte of the tag, some others
    Case forged = it;
    forged.sealed[i] = static_cast<unsigned char>(forged.sealed[i] ^ (1U << (i % 8)));
    refuses(forged, "crypto_aead_decrypt accepts a forgery");
  }
  Case other = it;
  other.nonce.back() ^= 1;
  refuses(other, "crypto_aead_decrypt accepts another nonce");
  if (!it.aad.empty()) {
    other = it;
    other.aad.back() ^= 0x80;
    refuses(other, "crypto_aead_decrypt accepts other associated data");
  }
  unsigned long long mlen = 0;
  Guarded m(it.plain.size());
  for (const unsigned long long shorter : {0ULL, 1ULL, 15ULL}) {
    check(crypto_aead_decrypt(m.data(), &mlen, nullptr, it.sealed.data(), shorter, it.aad.data(),
                              it.aad.size(), it.nonce.data(), it.key.data()) != 0,
          "crypto_aead_decrypt accepts less than a tag");
  }
}

}  // namespace

int main() {
  static_assert(crypto_aead_NSECBYTES == 0 && crypto_aead_NPUBBYTES == 12);
  static_assert(crypto_aead_ABYTES == 16 && crypto_aead_NOOVERLAP == 1);
  const int count = for_each_case([](const std::vector<Text>& texts) {
    check(texts.size() == 5 && texts[0].size() == crypto_aead_KEYBYTES, "is no case");
    const Case it{texts[0], texts[1], texts[2], texts[3], texts[4]};
    try_encryption(it);
    try_decryption(it);
    try_overlaps(it);
    try_forgeries(it);
  });
  std::printf("%d cases of %s\n", count, crypto_aead_IMPLEMENTATION);
}
