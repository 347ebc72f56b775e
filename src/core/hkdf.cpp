#include <algorithm>
#include <array>
#include <string>

#include "paraes/error.hpp"
#include "paraes/kdf.hpp"
#include "paraes/secret.hpp"
#include "src/core/hmac.hpp"

namespace paraes {
namespace {

// HKDF-Expand (RFC 5869 section 2.3).
template <class Functions>
void expand(Bytes prk, Bytes info, MutableBytes out) {
  const Hmac<Functions> keyed(prk);
  constexpr std::size_t block_bytes = Hmac<Functions>::bytes;
  constexpr std::size_t most_blocks = 255;
  if (out.empty() || out.size() > most_blocks * block_bytes) {
    throw InvalidArgument("HKDF makes 1 to " + std::to_string(most_blocks * block_bytes) +
                          " bytes with this hash (RFC 5869 section 2.3), not " +
                          std::to_string(out.size()));
  }
  std::array<std::uint8_t, block_bytes> block;
  std::uint8_t number = 0;
  for (std::size_t done = 0; done < out.size();) {
    Hmac<Functions> hmac = keyed;
    if (number != 0) hmac.add(block);
    hmac.add(info);
    ++number;
    hmac.add({&number, 1});
    hmac.finish(block.data());
    const std::size_t n = std::min(block.size(), out.size() - done);
    std::copy_n(block.begin(), n, out.begin() + static_cast<std::ptrdiff_t>(done));
    done += n;
  }
  secure_zero(block.data(), block.size());
}

// HKDF-Extract (RFC 5869 section 2.2), then HKDF-Expand.
template <class Functions>
void extract_and_expand(Bytes ikm, Bytes salt, Bytes info, MutableBytes out) {
  std::array<std::uint8_t, Hmac<Functions>::bytes> prk;
  // Without a salt the key is empty, which HMAC pads to the zeros that the RFC asks for.
  Hmac<Functions> hmac(salt);
  hmac.add(ikm);
  hmac.finish(prk.data());
  expand<Functions>(prk, info, out);
  secure_zero(prk.data(), prk.size());
}

}  // namespace

void hkdf(HkdfHash hash, Bytes ikm, Bytes salt, Bytes info, MutableBytes out) {
  switch (hash) {
    case HkdfHash::sha1:
      return extract_and_expand<Sha1Functions>(ikm, salt, info, out);
    case HkdfHash::sha256:
      return extract_and_expand<Sha256Functions>(ikm, salt, info, out);
    case HkdfHash::sha512:
      return extract_and_expand<Sha512Functions>(ikm, salt, info, out);
  }
}

void hkdf_expand_sha512(Bytes prk, Bytes info, MutableBytes out) {
  expand<Sha512Functions>(prk, info, out);
}

}  // namespace paraes
