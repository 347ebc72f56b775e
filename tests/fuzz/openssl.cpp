// Fuzzes the format openssl: salts, passphrases and iterations give OpenSSL's key, encryption gives
// its bytes, and decryption of any bytes gives what OpenSSL gives, or fails where it fails.

#include <openssl/evp.h>

#include <optional>

#include "paraes/error.hpp"
#include "paraes/streams.hpp"
#include "tests/fuzz/any_message.hpp"
#include "tests/fuzz/transfer.hpp"

namespace paraes::fuzz {
namespace {

struct Case {
  SaltedHeader header;
  Buffer passphrase;
  SaltedOptions options;
};

Case make_case(Input& input, const Execution& execution) {
  Case made;
  const Buffer salt = take(input, 8);
  std::copy(salt.begin(), salt.end(), made.header.salt.begin());
  made.passphrase = take(input, number(input, 0, 40));
  made.options.mode = input.ConsumeBool() ? BlockMode::cbc : BlockMode::ctr;
  made.options.key_bits = one_of(input, {128U, 192U, 256U});
  made.options.iterations = number(input, 1, 3);
  made.options.kdf = input.ConsumeBool() ? SaltedKdf::pbkdf2 : SaltedKdf::evp;
  made.options.digest = static_cast<Digest>(number(input, 0, digest_names.size() - 1));
  made.options.execution = execution;
  return made;
}

// The key, then the IV.
Buffer derive(const Case& given, const EVP_CIPHER* cipher) {
  const std::size_t key_bytes = given.options.key_bits / 8;
  Buffer derived(key_bytes + 16);
  const auto digest = static_cast<std::size_t>(given.options.digest);
  const EVP_MD* const hash = EVP_get_digestbyname(std::string(digest_names.at(digest)).c_str());
  const auto size = static_cast<int>(given.passphrase.size());
  if (given.options.kdf == SaltedKdf::evp) {
    Buffer text = given.passphrase;
    text.push_back(0);  // so that it is no null pointer
    require(EVP_BytesToKey(cipher, hash, given.header.salt.data(), text.data(), size, 1,
                           derived.data(), derived.data() + key_bytes) > 0);
    return derived;
  }
  const auto* const passphrase = reinterpret_cast<const char*>(given.passphrase.data());
  require(PKCS5_PBKDF2_HMAC(passphrase, size, given.header.salt.data(), 8,
                            static_cast<int>(given.options.iterations), hash,
                            static_cast<int>(derived.size()), derived.data()) == 1);
  return derived;
}

// Nothing if OpenSSL refuses the padding.
std::optional<Buffer> by_evp(const Case& given, bool encrypting, const Buffer& in) {
  const std::size_t key_bytes = given.options.key_bits / 8;
  const bool cbc = given.options.mode == BlockMode::cbc;
  const EVP_CIPHER* cipher = key_bytes == 16   ? (cbc ? EVP_aes_128_cbc() : EVP_aes_128_ctr())
                             : key_bytes == 24 ? (cbc ? EVP_aes_192_cbc() : EVP_aes_192_ctr())
                                               : (cbc ? EVP_aes_256_cbc() : EVP_aes_256_ctr());
  const Buffer derived = derive(given, cipher);
  const std::unique_ptr<EVP_CIPHER_CTX, void (*)(EVP_CIPHER_CTX*)> context(EVP_CIPHER_CTX_new(),
                                                                           EVP_CIPHER_CTX_free);
  require(EVP_CipherInit_ex(context.get(), cipher, nullptr, derived.data(),
                            derived.data() + key_bytes, encrypting ? 1 : 0) == 1);
  Buffer out(in.size() + 32);
  int bytes = 0;
  int more = 0;
  require(EVP_CipherUpdate(context.get(), out.data(), &bytes, in.data(),
                           static_cast<int>(in.size())) == 1);
  if (EVP_CipherFinal_ex(context.get(), out.data() + bytes, &more) != 1) return std::nullopt;
  out.resize(static_cast<std::size_t>(bytes + more));
  return out;
}

void check(Input& input, const Case& given) {
  const Buffer plain = text(input, size_of_text(input, 100000));
  const bool encrypting = input.ConsumeBool();
  Buffer in = plain;
  if (!encrypting) {
    // OpenSSL's output, perhaps damaged: mostly with bad padding.
    in = by_evp(given, true, plain).value();
    damage(input, in);
  }
  const std::optional<Buffer> expected = by_evp(given, encrypting, in);
  AnySource source(input, in);
  AnySink sink(input);
  const auto stream = salted_stream(encrypting ? Direction::encrypt : Direction::decrypt,
                                    given.header, given.passphrase, given.options);
  const bool overlap = input.ConsumeBool();
  const bool refused = throws<IntegrityError>(
      [&] { copy_stream(source.source(), *stream, sink.sink(), {}, overlap); });
  require(refused == !expected);
  if (expected) require(equal(sink.data(), *expected));
}

std::unique_ptr<Source> ordered(const Buffer& data) {
  return std::make_unique<support::TricklingSource>(data);
}

// Encoded bytes come back, and anything else is refused or decoded, from any pieces.
void check_base64(Input& input) {
  Buffer bytes = take(input, number(input, 0, 300));
  Buffer encoded = base64(bytes);
  const std::size_t line = number(input, 1, 100);
  for (std::size_t at = line; at < encoded.size(); at += line + 1) {
    encoded.insert(encoded.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  }
  const bool damaged = input.ConsumeBool();
  if (damaged) damage(input, encoded);
  const std::size_t before = number(input, 0, encoded.size());
  const Bytes text = encoded;
  Base64Source source(text.first(before),
                      ordered({text.begin() + static_cast<std::ptrdiff_t>(before), text.end()}));
  Buffer decoded(encoded.size() + 1);
  std::size_t n = 0;
  const bool refused = throws<IntegrityError>([&] { n = source.read(decoded); });
  require(damaged || !refused);
  if (!damaged) require(equal(Bytes(decoded).first(n), bytes));
}

// The start of a file: a header that something may have happened to, or anything.
Buffer any_start(Input& input) {
  if (input.ConsumeBool()) return take(input, number(input, 0, 20));
  Buffer start = {'S', 'a', 'l', 't', 'e', 'd', '_', '_'};
  start = joined(start, take(input, 8));
  damage(input, start);
  return start;
}

void check_header(const Buffer& start) {
  const Bytes given = Bytes(start).first(std::min(start.size(), SaltedHeader::bytes));
  const std::string begin(
      given.begin(),
      given.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(given.size(), 8)));
  try {
    const SaltedHeader header = SaltedHeader::parse(given);
    require(looks_salted(given) && equal(header.encode(), given));
  } catch (const NotSalted&) {
    require(begin != "Salted__");
  } catch (const IntegrityError&) {
    require(begin == "Salted__" && given.size() < SaltedHeader::bytes);
  }
}

}  // namespace

void fuzz(Input& input) {
  check_header(any_start(input));
  check_base64(input);
  const AnyKernel kernel(input);
  check(input, make_case(input, kernel.execution(static_cast<int>(number(input, 1, 2)))));
}

}  // namespace paraes::fuzz
