// Fuzzes headers of paraes messages with a key, a passphrase or recipients: what is read is what
// was written, and a header is opened if and only if OpenSSL derives its commitment.

#include "paraes/kdf.hpp"
#include "paraes/recipients.hpp"
#include "tests/fuzz/formats.hpp"

namespace paraes::fuzz {
namespace {

// A preface that paraes could have written, but for its salt, which is that of the input.
Preface any_preface(Input& input) {
  const unsigned key_bits = one_of(input, {128U, 256U});
  Preface preface = Preface::for_key(key_bits / 8);
  switch (number(input, 0, 2)) {
    case 0:
      break;
    case 1:
      preface = Preface::for_passphrase(key_bits, static_cast<unsigned>(number(input, 1, 40)));
      std::copy_n(take(input, 16).begin(), 16, preface.kdf_salt.begin());
      break;
    default:
      preface = Preface::for_recipients(key_bits, number(input, 1, 300));
  }
  return preface;
}

// With none of paraes' code.
Buffer encoded(const Preface& preface) {
  Buffer bytes = {'P', 'A', 'R', 'A', 'E', 'S', '\r', '\n', 1};
  bytes.push_back(static_cast<std::uint8_t>(preface.kdf));
  bytes.push_back(preface.key_bits == 128 ? 1 : 2);
  bytes.push_back(static_cast<std::uint8_t>(preface.scrypt_log2n));
  for (unsigned shift = 32; shift != 0; shift -= 8) {
    bytes.push_back(static_cast<std::uint8_t>(preface.wrap_bytes >> (shift - 8)));
  }
  bytes.insert(bytes.end(), preface.kdf_salt.begin(), preface.kdf_salt.end());
  return bytes;
}

void check_parsed(const Buffer& start) {
  try {
    const Preface preface = Preface::parse(start);
    require(equal(preface.encode(), Bytes(start).first(Preface::bytes)));
    require(equal(encoded(preface), Bytes(start).first(Preface::bytes)));
    Preface bound = preface;
    bound.wrap_bytes = 0;
    require(equal(preface.context(), encoded(bound)));
    require(preface.kdf == Kdf::recipients
                ? preface.wrap_bytes > 72 && preface.wrap_bytes <= max_wrap_bytes
                : preface.wrap_bytes == 0);
    require((preface.kdf == Kdf::scrypt) == (preface.scrypt_log2n != 0));
  } catch (const IntegrityError&) {
    return;
  }
}

// scrypt of small cost takes the salt and the size of the key from the preface.
void check_scrypt(const Preface& preface, Bytes passphrase) {
  if (preface.kdf != Kdf::scrypt) {
    require(
        throws<InvalidArgument>([&] { static_cast<void>(scrypt_input_key(preface, passphrase)); }));
    return;
  }
  if (preface.scrypt_log2n > 4) return;
  const SecretBytes key = scrypt_input_key(preface, passphrase);
  Buffer expected(preface.key_bits / 8);
  scrypt(passphrase, preface.kdf_salt, preface.scrypt_log2n, expected);
  require(equal(key.span(), expected));
}

// Derives the keys of a header by OpenSSL, or returns nothing if it is none under this key. A
// different wrap, of any size, leads to the same key: it is not part of the message. Another salt
// with its own commitment is a header as well: libFuzzer can put together those of two inputs.
std::optional<Derived> derived_of(const Buffer& given, const Buffer& key, const Buffer& context) {
  Preface preface;
  if (refuses([&] { preface = Preface::parse(given); })) return std::nullopt;
  if (8 * key.size() != preface.key_bits) return std::nullopt;
  if (given.size() != paraes_header_bytes + preface.wrap_bytes) return std::nullopt;
  preface.wrap_bytes = 0;
  const Bytes header = Bytes(given).last(c2sp_header_bytes);
  Derived derived = derive_c2sp(key, header.first(24), joined(encoded(preface), context));
  if (!equal(header, derived.header)) return std::nullopt;
  return derived;
}

void check_message(Input& input, const Preface& preface) {
  const Buffer key = take(input, preface.key_bits / 8);
  const Buffer context = take(input, number(input, 0, 20));
  const Buffer wrap = take(input, preface.wrap_bytes);
  const Buffer start = encoded(preface);
  Preface bound = preface;
  bound.wrap_bytes = 0;
  const Derived made = derive_c2sp(key, take(input, 24), joined(encoded(bound), context));
  const Buffer header = joined(joined(start, wrap), made.header);
  Buffer given = header;
  damage(input, given);
  const std::size_t behind = start.size() + wrap.size();
  const std::optional<Derived> fits = derived_of(given, key, context);
  require(fits.has_value() || given != header);
  bool opened = false;
  static_cast<void>(refuses([&] {
    const Message::Parts parts = open_paraes_message(given, key, context);
    opened = true;
    require(fits.has_value() && equal(parts.header, given));
    require(equal(parts.secret.key.span(), fits->key));
    require(parts.secret.base_nonce == fits->base_nonce);
    require(parts.layout == c2sp_layout(given.size()));
  }));
  require(opened == fits.has_value());
  const Message::Parts own = new_paraes_message(preface, key, context, wrap);
  const Bytes salt = Bytes(own.header).subspan(behind, 24);
  const Derived expected = derive_c2sp(key, salt, joined(encoded(bound), context));
  require(equal(own.header, joined(joined(start, wrap), expected.header)));
  require(equal(own.secret.key.span(), expected.key));
}

}  // namespace

void fuzz(Input& input) {
  if (input.ConsumeBool()) {
    return check_parsed(input.ConsumeRemainingBytes<std::uint8_t>());
  }
  const Preface preface = any_preface(input);
  Buffer start = encoded(preface);
  require(equal(preface.encode(), start));
  check_scrypt(preface, take(input, number(input, 0, 20)));
  check_message(input, preface);
  damage(input, start);
  check_parsed(start);
}

}  // namespace paraes::fuzz
