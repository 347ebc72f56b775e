// Format openssl: the layout of `openssl enc`.

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "paraes/error.hpp"
#include "paraes/kdf.hpp"
#include "paraes/secret.hpp"
#include "paraes/streams.hpp"
#include "src/streams/raw.hpp"

namespace paraes {
namespace {

constexpr std::string_view magic = "Salted__";

}  // namespace

bool looks_salted(Bytes start) noexcept {
  return start.size() >= magic.size() && std::memcmp(start.data(), magic.data(), magic.size()) == 0;
}

bool looks_salted_in_base64(Bytes start) noexcept {
  // All bits of these characters are of the eight bytes.
  constexpr std::string_view in_base64 = "U2FsdGVkX1";
  return start.size() >= in_base64.size() &&
         std::memcmp(start.data(), in_base64.data(), in_base64.size()) == 0;
}

SaltedHeader SaltedHeader::random() {
  SaltedHeader header;
  random_bytes(header.salt);
  return header;
}

SaltedHeader SaltedHeader::parse(Bytes start) {
  if (!looks_salted(start)) {
    throw NotSalted(
        "the input does not begin with \"Salted__\": `openssl enc` with a passphrase did not write "
        "it");
  }
  if (start.size() < bytes) {
    throw IntegrityError("the input ends within its header: it has " +
                         std::to_string(start.size()) + " bytes of 16");
  }
  if (start.size() > bytes) {
    throw IntegrityError("the header has 16 bytes, not " + std::to_string(start.size()));
  }
  SaltedHeader header;
  std::copy(start.begin() + magic.size(), start.end(), header.salt.begin());
  return header;
}

std::array<std::uint8_t, SaltedHeader::bytes> SaltedHeader::encode() const {
  std::array<std::uint8_t, bytes> text{};
  std::copy(magic.begin(), magic.end(), text.begin());
  std::copy(salt.begin(), salt.end(), text.begin() + magic.size());
  return text;
}

std::unique_ptr<StreamTransform> salted_stream(Direction direction, const SaltedHeader& header,
                                               Bytes passphrase, const SaltedOptions& options) {
  if (options.mode != BlockMode::cbc && options.mode != BlockMode::ctr) {
    throw InvalidArgument("the openssl format has only the modes cbc and ctr");
  }
  if (options.key_bits != 128 && options.key_bits != 192 && options.key_bits != 256) {
    throw InvalidArgument("an AES key has 128, 192 or 256 bits (FIPS 197 section 5), not " +
                          std::to_string(options.key_bits));
  }
  const std::size_t key_bytes = options.key_bits / 8;
  SecretBytes derived(key_bytes + block_bytes);
  const std::string digest(digest_names.at(static_cast<std::size_t>(options.digest)));
  std::string derivation;
  if (options.kdf == SaltedKdf::evp) {
    evp_bytes_to_key(options.digest, passphrase, header.salt, derived.span().first(key_bytes),
                     derived.span().subspan(key_bytes));
    derivation = "EVP_BytesToKey with " + digest;
  } else {
    pbkdf2(options.digest, passphrase, header.salt, options.iterations, derived.span());
    derivation =
        "PBKDF2 with " + digest + " and " + std::to_string(options.iterations) + " iterations";
  }
  RawOptions raw;
  raw.mode = options.mode;
  raw.key = Bytes(derived.span()).first(key_bytes);
  raw.iv = Bytes(derived.span()).subspan(key_bytes);
  raw.execution = options.execution;
  return detail::raw_stream(
      direction, raw, "passphrase, key derivation (" + derivation + "), key size or mode", true);
}

}  // namespace paraes
