// Calls an implementation of crypto_stream as SUPERCOP's try program does. Each line of standard
// input is a case: key, nonce, message and its encryption.

#include <crypto_stream.h>

#include "try.hpp"

namespace {

void try_case(const std::vector<Text>& texts) {
  check(texts.size() == 4 && texts[0].size() == crypto_stream_KEYBYTES, "is no case");
  const Text& message = texts[2];
  const Text& expected = texts[3];
  const std::size_t bytes = message.size();
  Guarded key(texts[0]), nonce(texts[1]), m(message), c(bytes), stream(bytes);
  check(crypto_stream_xor(c.data(), m.data(), bytes, nonce.data(), key.data()) == 0,
        "crypto_stream_xor returns nonzero");
  check(c.text() == expected, "crypto_stream_xor gives wrong bytes");
  c.check_canaries("crypto_stream_xor writes beside its output");
  check(crypto_stream(stream.data(), bytes, nonce.data(), key.data()) == 0,
        "crypto_stream returns nonzero");
  stream.check_canaries("crypto_stream writes beside its output");
  const Text whole = stream.text();
  for (std::size_t i = 0; i < bytes; ++i) {
    check((whole[i] ^ message[i]) == expected[i], "crypto_stream gives wrong bytes");
  }
  check(m.text() == message && key.text() == texts[0] && nonce.text() == texts[1],
        "an input is changed");
  check(crypto_stream_xor(m.data(), m.data(), bytes, nonce.data(), key.data()) == 0 &&
            m.text() == expected,
        "crypto_stream_xor encrypts m = c wrongly");
}

}  // namespace

int main() {
  static_assert(crypto_stream_NONCEBYTES == 16);
  const int count = for_each_case(try_case);
  std::printf("%d cases of %s\n", count, crypto_stream_IMPLEMENTATION);
}
