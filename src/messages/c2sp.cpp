// Formats c2sp and paraes: C2SP chunked encryption, without and with a preface.

#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "paraes/error.hpp"
#include "paraes/kdf.hpp"
#include "paraes/messages.hpp"
#include "paraes/recipients.hpp"
#include "src/messages/headers.hpp"
#include "src/messages/preface_fields.hpp"

namespace paraes {
namespace {

constexpr std::size_t salt_bytes = 24;
constexpr std::size_t commitment_bytes = 32;
constexpr std::size_t nonce_bytes = 12;
static_assert(max_context_bytes + Preface::bytes == max_c2sp_context_bytes);
static_assert(salt_bytes + commitment_bytes == c2sp_header_bytes);

constexpr std::string_view label = "c2sp.org/chunked-encryption@v1+";

Bytes bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

void check_key(Bytes key) {
  if (key.size() == 16 || key.size() == 32) return;
  throw InvalidArgument("chunked encryption takes a key of 16 or 32 bytes, not " +
                        std::to_string(key.size()));
}

// Derives segment key ‖ base nonce ‖ commitment.
SecretBytes derive(Bytes key, Bytes salt, Bytes preface, Bytes context) {
  const std::size_t most = max_c2sp_context_bytes - preface.size();
  if (context.size() > most) {
    throw InvalidArgument("a context has at most " + std::to_string(most) + " bytes, not " +
                          std::to_string(context.size()));
  }
  const std::string_view aead = key.size() == 32 ? "AEAD_AES_256_GCM" : "AEAD_AES_128_GCM";
  constexpr std::array<std::uint8_t, 1> zero = {0};
  const std::vector<std::uint8_t> info =
      join({bytes_of(label), bytes_of(aead), zero, salt, preface, context});
  SecretBytes derived(key.size() + nonce_bytes + commitment_bytes);
  hkdf_expand_sha512(key, info, derived.span());
  return derived;
}

// `start` and `wrap` precede the salt in the header.
Message::Parts make_parts(Bytes start, Bytes wrap, Bytes salt, const SecretBytes& derived) {
  const std::size_t key_bytes = derived.size() - nonce_bytes - commitment_bytes;
  const Bytes all = derived.span();
  std::vector<std::uint8_t> header = join({start, wrap, salt, all.last(commitment_bytes)});
  const SegmentLayout layout = c2sp_layout(header.size());
  SegmentKey secret;
  secret.key = SecretBytes(all.first(key_bytes));
  const Bytes nonce = all.subspan(key_bytes, nonce_bytes);
  std::copy(nonce.begin(), nonce.end(), secret.base_nonce.begin());
  secret.nonces = SegmentCipher::Nonces::counted;
  return {
      .header = std::move(header), .layout = layout, .secret = std::move(secret), .commits = true};
}

IntegrityError ends_in_header(std::size_t bytes) {
  return IntegrityError("the input is truncated: it ends within its header, which has " +
                        std::to_string(bytes) + " bytes");
}

// `start` and `wrap` precede the header of the c2sp message. `preface`: with which the context
// begins.
Message::Parts new_message(Bytes start, Bytes wrap, Bytes preface, Bytes key, Bytes context) {
  std::array<std::uint8_t, salt_bytes> salt{};
  random_bytes(salt);
  return make_parts(start, wrap, salt, derive(key, salt, preface, context));
}

// The last part of `header` is that of the c2sp message: what precedes it has `before` bytes.
// `preface`: with which the context begins.
Message::Parts open_message(Bytes header, std::size_t before, Bytes preface,
                            WrongKey::Secret secret, Bytes key, Bytes context) {
  check_header_size(header.size(), before + c2sp_header_bytes);
  const Bytes salt = header.subspan(before, salt_bytes);
  const SecretBytes derived = derive(key, salt, preface, context);
  if (!constant_time_equal(Bytes(derived.span()).last(commitment_bytes),
                           header.last(commitment_bytes))) {
    throw WrongKey(secret);
  }
  return make_parts(header.first(before), {}, salt, derived);
}

static_assert(detail::preface_bytes == Preface::bytes);
static_assert(detail::most_wrap_bytes == max_wrap_bytes);
static_assert(detail::kdf_none == static_cast<std::uint8_t>(Kdf::none));
static_assert(detail::kdf_scrypt == static_cast<std::uint8_t>(Kdf::scrypt));
static_assert(detail::kdf_recipients == static_cast<std::uint8_t>(Kdf::recipients));

void check_key_bits(unsigned key_bits) {
  if (key_bits == 128 || key_bits == 256) return;
  throw InvalidArgument("the paraes format has keys of 128 or 256 bits, not " +
                        std::to_string(key_bits));
}

// `start`: what read_preface() refused, and `wrap_bytes`, which it has read.
IntegrityError refused(detail::PrefaceFault fault, Bytes start,
                       const detail::PrefaceFields& fields) {
  using detail::PrefaceFault;
  const auto unknown = [](const char* field, unsigned value) {
    return IntegrityError("the header has " + std::string(field) + " " + std::to_string(value) +
                          ", which this version of paraes does not know");
  };
  switch (fault) {
    case PrefaceFault::magic:
      return IntegrityError("the input does not begin like a paraes message");
    case PrefaceFault::truncated:
      return IntegrityError("the input is truncated: it ends within its preface, after " +
                            std::to_string(start.size()) + " bytes of " +
                            std::to_string(Preface::bytes));
    case PrefaceFault::version:
      return unknown("format version", start[detail::at_version]);
    case PrefaceFault::kdf:
      return unknown("kdf", start[detail::at_kdf]);
    case PrefaceFault::aead:
      return unknown("aead", start[detail::at_aead]);
    case PrefaceFault::unused_scrypt:
      return IntegrityError("the header is damaged: it has scrypt parameters, but no scrypt");
    case PrefaceFault::wrap_bytes:
      return IntegrityError("the header is damaged: the part for its recipients has " +
                            std::to_string(fields.wrap_bytes) + " bytes, not " +
                            std::to_string(slot_bytes(fields.key_bits) + 1) + " to " +
                            std::to_string(max_wrap_bytes));
    case PrefaceFault::reserved:
      return IntegrityError(
          "reserved bytes of the header are not zero: it is damaged, or a later "
          "version of paraes wrote it");
    default:
      return IntegrityError("the header is damaged: scrypt with N = 1");
  }
}

void check_input_key(const Preface& preface, Bytes input_key) {
  if (8 * input_key.size() == preface.key_bits) return;
  throw InvalidArgument("the message needs a key of " + std::to_string(preface.key_bits / 8) +
                        " bytes, not " + std::to_string(input_key.size()));
}

}  // namespace

std::vector<std::uint8_t> join(std::initializer_list<Bytes> parts) {
  std::size_t size = 0;
  for (const Bytes part : parts) size += part.size();
  std::vector<std::uint8_t> all(size);
  auto to = all.begin();
  for (const Bytes part : parts) to = std::copy(part.begin(), part.end(), to);
  return all;
}

void check_header_size(std::size_t bytes, std::size_t expected) {
  if (bytes < expected) throw ends_in_header(expected);
  if (bytes > expected) {
    throw IntegrityError("the header has " + std::to_string(expected) + " bytes, not " +
                         std::to_string(bytes));
  }
}

void check_preface(const Preface& preface) {
  check_key_bits(preface.key_bits);
  const auto fields = [](const Preface& p) {
    return std::tie(p.kdf, p.key_bits, p.scrypt_log2n, p.kdf_salt, p.wrap_bytes);
  };
  try {
    const Preface parsed = Preface::parse(preface.encode());
    if (fields(parsed) == fields(preface)) return;
  } catch (const IntegrityError&) {  // no reader would take it
  }
  throw InvalidArgument("no message has this preface: a field is out of range or contradicts kdf");
}

SegmentLayout c2sp_layout(std::uint64_t header_bytes) {
  constexpr std::uint64_t segment_bytes = 16384;
  return {.header_bytes = header_bytes,
          .first_bytes = segment_bytes,
          .segment_bytes = segment_bytes,
          .max_segments = std::uint64_t{1} << 38,
          .last = SegmentLayout::Last::shorter};
}

Message::Parts new_c2sp_message(Bytes key, Bytes context) {
  check_key(key);
  return new_message({}, {}, {}, key, context);
}

Message::Parts open_c2sp_message(Bytes header, Bytes key, Bytes context) {
  check_key(key);
  return open_message(header, 0, {}, WrongKey::Secret::key, key, context);
}

Preface Preface::for_key(std::size_t key_bytes) {
  if (key_bytes != 16 && key_bytes != 32) {
    throw InvalidArgument("the paraes format takes a key of 16 or 32 bytes, not " +
                          std::to_string(key_bytes));
  }
  Preface preface;
  preface.key_bits = static_cast<unsigned>(8 * key_bytes);
  return preface;
}

Preface Preface::for_passphrase(unsigned key_bits, unsigned scrypt_log2n) {
  check_key_bits(key_bits);
  Preface preface = for_key(key_bits / 8);
  if (scrypt_log2n < 1 || scrypt_log2n > highest_scrypt_log2n) {
    throw InvalidArgument("scrypt: log2 N is 1 to 40, not " + std::to_string(scrypt_log2n));
  }
  preface.kdf = Kdf::scrypt;
  preface.scrypt_log2n = scrypt_log2n;
  random_bytes(preface.kdf_salt);
  return preface;
}

Preface Preface::for_recipients(unsigned key_bits, std::size_t age_file_bytes) {
  check_key_bits(key_bits);
  Preface preface = for_key(key_bits / 8);
  const std::size_t slot = slot_bytes(key_bits);
  if (age_file_bytes == 0 || age_file_bytes > max_wrap_bytes - slot) {
    throw InvalidArgument("an age file of " + std::to_string(age_file_bytes) +
                          " bytes does not fit in the header, which has room for " +
                          std::to_string(max_wrap_bytes - slot) + ": use fewer recipients");
  }
  preface.kdf = Kdf::recipients;
  preface.wrap_bytes = age_file_bytes + slot;
  return preface;
}

bool looks_like_paraes(Bytes start) noexcept {
  return detail::begins_like_preface(start.data(), start.size());
}

Preface Preface::parse(Bytes start) {
  detail::PrefaceFields fields;
  const detail::PrefaceFault fault = detail::read_preface(start.data(), start.size(), fields);
  if (fault != detail::PrefaceFault::none) throw refused(fault, start, fields);
  Preface preface;
  preface.kdf = static_cast<Kdf>(fields.kdf);
  preface.key_bits = fields.key_bits;
  preface.scrypt_log2n = fields.scrypt_log2n;
  preface.wrap_bytes = fields.wrap_bytes;
  std::copy_n(fields.kdf_salt, preface.kdf_salt.size(), preface.kdf_salt.begin());
  return preface;
}

std::array<std::uint8_t, Preface::bytes> Preface::encode() const {
  detail::PrefaceFields fields;
  fields.kdf = static_cast<std::uint8_t>(kdf);
  fields.key_bits = key_bits;
  fields.scrypt_log2n = scrypt_log2n;
  fields.wrap_bytes = static_cast<std::uint32_t>(wrap_bytes);
  std::copy(kdf_salt.begin(), kdf_salt.end(), fields.kdf_salt);
  std::array<std::uint8_t, bytes> text;
  detail::write_preface(fields, text.data());
  return text;
}

std::array<std::uint8_t, Preface::bytes> Preface::context() const {
  Preface bound = *this;
  bound.wrap_bytes = 0;
  return bound.encode();
}

std::vector<std::uint8_t> read_paraes_header(Source& source) {
  std::vector<std::uint8_t> header(paraes_header_bytes);
  header.resize(source.read(header));
  if (header.size() < Preface::bytes || !looks_like_paraes(header)) return header;
  const std::size_t wrap_bytes = Preface::parse(Bytes(header).first(Preface::bytes)).wrap_bytes;
  if (header.size() < paraes_header_bytes) throw ends_in_header(paraes_header_bytes + wrap_bytes);
  if (const auto left = source.remaining(); left && *left < wrap_bytes) {
    throw IntegrityError("the input is truncated or damaged: the part for its recipients has " +
                         std::to_string(wrap_bytes) + " bytes, more than are left");
  }
  header.resize(paraes_header_bytes + wrap_bytes);
  const MutableBytes rest = MutableBytes(header).subspan(paraes_header_bytes);
  if (source.read(rest) != rest.size()) throw ends_in_header(header.size());
  return header;
}

SecretBytes scrypt_input_key(const Preface& preface, Bytes passphrase) {
  if (preface.kdf != Kdf::scrypt) {
    throw InvalidArgument("the message needs a key: its preface has no scrypt parameters");
  }
  SecretBytes key(preface.key_bits / 8);
  scrypt(passphrase, preface.kdf_salt, preface.scrypt_log2n, key.span());
  return key;
}

Message::Parts new_paraes_message(const Preface& preface, Bytes input_key, Bytes context,
                                  Bytes wrap) {
  check_preface(preface);
  check_input_key(preface, input_key);
  if (wrap.size() != preface.wrap_bytes) {
    throw InvalidArgument("the wrap of this message has " + std::to_string(preface.wrap_bytes) +
                          " bytes, not " + std::to_string(wrap.size()));
  }
  const std::array<std::uint8_t, Preface::bytes> start = preface.encode();
  return new_message(start, wrap, preface.context(), input_key, context);
}

Message::Parts new_paraes_message(Bytes key, Bytes context) {
  return new_paraes_message(Preface::for_key(key.size()), key, context);
}

Message::Parts open_paraes_message(Bytes header, Bytes input_key, Bytes context) {
  const Preface preface = Preface::parse(header.first(std::min(header.size(), Preface::bytes)));
  // Not InvalidArgument, because the size comes from the message, which others may have changed.
  const auto secret = preface.kdf == Kdf::scrypt       ? WrongKey::Secret::passphrase
                      : preface.kdf == Kdf::recipients ? WrongKey::Secret::identity
                                                       : WrongKey::Secret::key;
  if (8 * input_key.size() != preface.key_bits) {
    throw WrongKey(secret, "wrong key: the message needs a key of " +
                               std::to_string(preface.key_bits / 8) + " bytes (AES-" +
                               std::to_string(preface.key_bits) + "), not " +
                               std::to_string(input_key.size()));
  }
  return open_message(header, Preface::bytes + preface.wrap_bytes, preface.context(), secret,
                      input_key, context);
}

}  // namespace paraes
