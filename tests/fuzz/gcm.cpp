// Fuzzes GCM of every kernel: text and tag are OpenSSL's for any key, nonce, associated data and
// text. Decryption accepts exactly the tag that OpenSSL computes for what it got, and releases
// nothing of what it refuses.

#include "src/modes/gcm.hpp"

#include "paraes/error.hpp"
#include "src/core/counter.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/support/evp_oracle.hpp"

namespace paraes::fuzz {
namespace {

using support::evp_gcm_encrypt;
using support::Sealed;

struct Case {
  Buffer key;
  Buffer nonce;
  Buffer aad;
  Buffer text;
};

Case make_case(Input& input) {
  Case made;
  made.key = take(input, one_of<std::size_t>(input, {16, 24, 32}));
  made.nonce = take(input, input.ConsumeBool() ? 12 : number(input, 1, 128));
  made.aad = text(input, size_of_text(input, 5000));
  made.text = text(input, size_of_text(input, 70000));
  return made;
}

void check_encryption(Input& input, const Case& given, const Execution& execution) {
  const Sealed expected = evp_gcm_encrypt(given.key, given.nonce, given.aad, given.text);
  Gcm gcm(given.key, execution);
  ExactBuffer in(given.text, number(input, 0, 63));
  ExactBuffer other(given.text, number(input, 0, 63));
  const MutableBytes out = input.ConsumeBool() ? in.span() : other.span();
  Buffer tag(16);
  const bool refused =
      throws<InvalidArgument>([&] { gcm.encrypt(given.nonce, given.aad, in.span(), out, tag); });
  require(refused == given.nonce.size() < 8);
  if (refused) return;
  require(equal(out, expected.text) && equal(tag, expected.tag));
}

bool is_tag_size(std::size_t bytes) {
  return bytes == 4 || bytes == 8 || (bytes >= 12 && bytes <= 16);
}

void check_decryption(Input& input, const Case& given, const Execution& execution) {
  Sealed sealed = evp_gcm_encrypt(given.key, given.nonce, given.aad, given.text);
  Buffer tag(sealed.tag.begin(), sealed.tag.end());
  tag.resize(number(input, 0, 17));
  Buffer aad = given.aad;
  damage(input, sealed.text);
  if (input.ConsumeBool()) damage(input, tag);
  if (input.ConsumeBool()) damage(input, aad);
  // Encryption and decryption of the text are the same operation; the tag is that of ciphertext.
  const Buffer plain = evp_gcm_encrypt(given.key, given.nonce, aad, sealed.text).text;
  const Sealed expected = evp_gcm_encrypt(given.key, given.nonce, aad, plain);
  Gcm gcm(given.key, execution);
  ExactBuffer in(sealed.text, number(input, 0, 63));
  ExactBuffer other(Buffer(sealed.text.size(), 0xd5), number(input, 0, 63));
  const MutableBytes out = input.ConsumeBool() ? in.span() : other.span();
  const auto decrypt = [&] { gcm.decrypt(given.nonce, aad, in.span(), out, tag); };
  if (!is_tag_size(tag.size())) {
    require(throws<InvalidArgument>(decrypt));
    return;
  }
  const bool fits = equal(tag, Bytes(expected.tag).first(tag.size()));
  require(throws<IntegrityError>(decrypt) == !fits);
  if (fits) {
    require(equal(out, plain));
  } else {
    require(all_zero(out));
  }
}

// Non-temporal stores, with which Gcm processes texts of a MiB or more.
void check_nontemporal(Input& input, const Case& given, const Kernel& tested) {
  if (tested.gcm_encrypt_nontemporal == nullptr) return;
  const Sealed expected = evp_gcm_encrypt(given.key, given.nonce, given.aad, given.text);
  const bool encrypting = input.ConsumeBool();
  const GcmKey key(tested, given.key.data(), static_cast<unsigned>(given.key.size()));
  ExactBuffer in(encrypting ? given.text : expected.text, number(input, 0, 63));
  ExactBuffer out(Buffer(given.text.size(), 0xd5), number(input, 0, 63));
  const GcmCounter j0 = gcm_initial_counter(key, given.nonce.data(), given.nonce.size());
  GcmCounter counter = j0;
  add_be32(counter.block, 1);
  Buffer state(16);
  Buffer tag(16);
  gcm_hash(key, state.data(), given.aad.data(), given.aad.size());
  gcm_range(key, encrypting ? Direction::encrypt : Direction::decrypt, counter, state.data(),
            in.span().data(), out.span().data(), given.text.size(), true);
  gcm_tag(key, j0, state.data(), given.aad.size(), given.text.size(), tag.data());
  require(equal(out.span(), encrypting ? expected.text : given.text));
  require(equal(tag, expected.tag));
}

}  // namespace

void fuzz(Input& input) {
  const AnyKernel kernel(input);
  const Execution execution = kernel.execution(static_cast<int>(number(input, 1, 3)));
  const std::size_t what = number(input, 0, 2);
  const Case given = make_case(input);
  if (what == 0) check_encryption(input, given, execution);
  if (what == 1) check_decryption(input, given, execution);
  if (what == 2) check_nontemporal(input, given, kernel.kernel());
}

}  // namespace paraes::fuzz
