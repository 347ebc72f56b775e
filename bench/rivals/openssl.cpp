// OpenSSL's EVP, with one context for each thread and keys expanded beforehand.
#include <openssl/crypto.h>

#include <stdexcept>

#include "bench/harness/case.hpp"
#include "bench/rivals/evp.hpp"
#include "bench/rivals/rivals.hpp"
#include "bench/rivals/split.hpp"

namespace paraes::bench {
namespace {

class OpenSsl : public Implementation {
 public:
  explicit OpenSsl(const Job& job) : job_(job), split_(job, "openssl") {
    for (std::uint64_t s = 0; s < split_.key_states(); ++s) {
      contexts_.push_back(evp_context(job, split_.key_of(s).data()));
    }
    spare_ = evp_context(job);
  }

  void run(const std::uint8_t* in, std::uint8_t* out, std::uint8_t* tag) override {
    if (job_.mode == Mode::gcm) {
      split_.each_message(in, out, tag, [&](unsigned r, const Split::GcmMessage& message) {
        gcm(contexts_[split_.state_of(r, message)].get(), message);
      });
      return;
    }
    split_.run(in, [&](unsigned r, std::uint64_t from, std::uint64_t bytes,
                       const std::uint8_t* iv) {
      EVP_CIPHER_CTX* context = contexts_[r].get();
      switch (job_.mode.value()) {
        case Mode::ecb:
          evp_update(context, in + from, out + from, bytes);
          break;
        case Mode::cbc:
        case Mode::ctr:
          evp_restart(context, iv);
          evp_update(context, in + from, out + from, bytes);
          break;
        case Mode::xts:
          split_.each_unit(from, bytes, [&](const auto& tweak, std::uint64_t at, std::size_t size) {
            evp_restart(context, tweak.data());
            evp_update(context, in + at, out + at, size);
          });
          break;
        case Mode::gcm:
          break;
      }
    });
  }

  bool expand_key() override {
    evp_check(
        EVP_CipherInit_ex(spare_.get(), nullptr, nullptr, material().key.data(), nullptr, -1));
    return true;
  }

 private:
  void gcm(EVP_CIPHER_CTX* context, const Split::GcmMessage& message) const {
    int written = 0;
    evp_restart(context, message.nonce);
    evp_update(context, message.in, message.out, message.bytes);
    if (job_.direction == Direction::decrypt) {
      evp_check(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, 16, message.tag));
      if (EVP_CipherFinal_ex(context, message.out, &written) != 1) {
        throw std::runtime_error("OpenSSL: the GCM tag does not match");
      }
      return;
    }
    evp_check(EVP_CipherFinal_ex(context, message.out, &written));
    evp_check(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, message.tag));
  }

  Job job_;
  Split split_;
  std::vector<EvpContext> contexts_;
  EvpContext spare_;
};

}  // namespace

std::unique_ptr<Implementation> make_openssl(const Job& job) {
  return std::make_unique<OpenSsl>(job);
}

std::string openssl_version() { return OpenSSL_version(OPENSSL_VERSION_STRING); }

}  // namespace paraes::bench
