#include "tests/support/evp_oracle.hpp"

#include <openssl/evp.h>

#include <memory>
#include <stdexcept>
#include <string>

namespace paraes::support {
namespace {

struct Free {
  void operator()(EVP_CIPHER* cipher) const { EVP_CIPHER_free(cipher); }
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};
using Context = std::unique_ptr<EVP_CIPHER_CTX, Free>;

void check(int result, const char* call) {
  if (result != 1) throw std::runtime_error(std::string("oracle: ") + call + " failed");
}

// Fetches each cipher once, because a fetch takes longer than encrypting a short message.
const EVP_CIPHER* fetch(const char* mode, std::size_t bits) {
  static std::vector<std::pair<std::string, std::unique_ptr<EVP_CIPHER, Free>>> known;
  const std::string name = "AES-" + std::to_string(bits) + "-" + mode;
  for (const auto& [text, cipher] : known) {
    if (text == name) return cipher.get();
  }
  known.emplace_back(name, EVP_CIPHER_fetch(nullptr, name.c_str(), nullptr));
  if (known.back().second == nullptr) throw std::runtime_error("oracle: OpenSSL has no " + name);
  return known.back().second.get();
}

void update(EVP_CIPHER_CTX* context, std::uint8_t* out, Bytes in) {
  int written = 0;
  check(EVP_CipherUpdate(context, out, &written, in.data(), static_cast<int>(in.size())),
        "EVP_CipherUpdate");
}

Buffer run(const char* mode, std::size_t bits, Direction direction, Bytes key,
           const std::uint8_t* iv, Bytes in) {
  Buffer out(in.size());
  if (in.empty()) return out;
  const Context context(EVP_CIPHER_CTX_new());
  check(EVP_CipherInit_ex2(context.get(), fetch(mode, bits), key.data(), iv,
                           direction == Direction::encrypt ? 1 : 0, nullptr),
        "EVP_CipherInit_ex2");
  EVP_CIPHER_CTX_set_padding(context.get(), 0);
  update(context.get(), out.data(), in);
  return out;
}

Context start_gcm(Direction direction, Bytes key, Bytes nonce) {
  const int encrypting = direction == Direction::encrypt ? 1 : 0;
  Context context(EVP_CIPHER_CTX_new());
  check(EVP_CipherInit_ex2(context.get(), fetch("GCM", 8 * key.size()), nullptr, nullptr,
                           encrypting, nullptr),
        "EVP_CipherInit_ex2");
  check(EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_SET_IVLEN, static_cast<int>(nonce.size()),
                            nullptr),
        "EVP_CTRL_AEAD_SET_IVLEN");
  check(EVP_CipherInit_ex2(context.get(), nullptr, key.data(), nonce.data(), encrypting, nullptr),
        "EVP_CipherInit_ex2");
  return context;
}

}  // namespace

Buffer evp_ecb(Direction direction, Bytes key, Bytes in) {
  return run("ECB", 8 * key.size(), direction, key, nullptr, in);
}

Buffer evp_cbc(Direction direction, Bytes key, Bytes iv, Bytes in) {
  return run("CBC", 8 * key.size(), direction, key, iv.data(), in);
}

Buffer evp_ctr(Bytes key, Bytes counter, Bytes in) {
  return run("CTR", 8 * key.size(), Direction::encrypt, key, counter.data(), in);
}

Buffer evp_xts_unit(Direction direction, Bytes key, Bytes tweak, Bytes in) {
  return run("XTS", 4 * key.size(), direction, key, tweak.data(), in);
}

Buffer evp_xts(Direction direction, Bytes key, Bytes first_unit, std::size_t unit_bytes, Bytes in) {
  Buffer out;
  out.reserve(in.size());
  Buffer tweak(first_unit.begin(), first_unit.end());
  while (!in.empty()) {
    std::size_t n = in.size();
    if (unit_bytes != 0 && n >= unit_bytes + 16) n = unit_bytes;
    const Buffer unit = evp_xts_unit(direction, key, tweak, in.first(n));
    out.insert(out.end(), unit.begin(), unit.end());
    in = in.subspan(n);
    for (std::uint8_t& b : tweak) {
      if (++b != 0) break;
    }
  }
  return out;
}

EvpGcmStream::EvpGcmStream(Bytes key, Bytes nonce)
    : context_(start_gcm(Direction::encrypt, key, nonce)) {}

void EvpGcmStream::add(Bytes part, std::uint8_t* out) {
  if (!part.empty()) update(context_.get(), out, part);
}

std::array<std::uint8_t, 16> EvpGcmStream::tag() {
  std::array<std::uint8_t, 16> tag{};
  std::uint8_t nothing[16];
  int written = 0;
  check(EVP_EncryptFinal_ex(context_.get(), nothing, &written), "EVP_EncryptFinal_ex");
  check(EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_GET_TAG, 16, tag.data()),
        "EVP_CTRL_AEAD_GET_TAG");
  return tag;
}

Sealed evp_gcm_encrypt(Bytes key, Bytes nonce, Bytes aad, Bytes in) {
  Sealed sealed{Buffer(in.size()), {}};
  EvpGcmStream stream(key, nonce);
  stream.add(aad, nullptr);
  stream.add(in, sealed.text.data());
  sealed.tag = stream.tag();
  return sealed;
}

std::optional<Buffer> evp_gcm_decrypt(Bytes key, Bytes nonce, Bytes aad, Bytes in, Bytes tag) {
  Buffer text(in.size());
  const Context context = start_gcm(Direction::decrypt, key, nonce);
  if (!aad.empty()) update(context.get(), nullptr, aad);
  if (!in.empty()) update(context.get(), text.data(), in);
  Buffer expected(tag.begin(), tag.end());  // OpenSSL asks for memory that it may write
  check(EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_SET_TAG, static_cast<int>(expected.size()),
                            expected.data()),
        "EVP_CTRL_AEAD_SET_TAG");
  std::uint8_t nothing[16];
  int written = 0;
  if (EVP_DecryptFinal_ex(context.get(), nothing, &written) != 1) return std::nullopt;
  return text;
}

}  // namespace paraes::support
