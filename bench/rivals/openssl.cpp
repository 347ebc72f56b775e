// EVP of the libcrypto that paraes is linked to, and of other libcrypto files, with one context for
// each thread and keys expanded beforehand.
#include <openssl/crypto.h>

#include <memory>
#include <sstream>

#include "bench/harness/case.hpp"
#include "bench/rivals/evp.hpp"
#include "bench/rivals/rivals.hpp"
#include "bench/rivals/split.hpp"

namespace paraes::bench {
namespace {

class OpenSsl : public Implementation {
 public:
  OpenSsl(const Job& job, const Evp& evp) : job_(job), evp_(evp), split_(job, "openssl") {
    for (std::uint64_t s = 0; s < split_.key_states(); ++s) {
      contexts_.push_back(evp_.context(job, split_.key_of(s).data()));
    }
    spare_ = evp_.context(job);
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
          evp_.update(context, in + from, out + from, bytes);
          break;
        case Mode::cbc:
        case Mode::ctr:
          evp_.restart(context, iv);
          evp_.update(context, in + from, out + from, bytes);
          break;
        case Mode::xts:
          split_.each_unit(from, bytes, [&](const auto& tweak, std::uint64_t at, std::size_t size) {
            evp_.restart(context, tweak.data());
            evp_.update(context, in + at, out + at, size);
          });
          break;
        case Mode::gcm:
          break;
      }
    });
  }

  bool expand_key() override {
    evp_.set_key(spare_.get(), material().key.data());
    return true;
  }

 private:
  void gcm(EVP_CIPHER_CTX* context, const Split::GcmMessage& message) const {
    evp_.restart(context, message.nonce);
    evp_.update(context, message.in, message.out, message.bytes);
    if (job_.direction == Direction::encrypt) {
      evp_.get_tag(context, message.tag);
    } else {
      evp_.check_tag(context, message.tag);
    }
  }

  Job job_;
  const Evp& evp_;
  Split split_;
  std::vector<EvpContext> contexts_;
  EvpContext spare_;
};

}  // namespace

std::unique_ptr<Implementation> make_openssl(const Job& job) {
  return std::make_unique<OpenSsl>(job, Evp::linked());
}

std::string openssl_version() { return OpenSSL_version(OPENSSL_VERSION_STRING); }

MemoryRival open_libcrypto(const std::string& path) {
  const auto evp = std::make_shared<const Evp>(path);
  // "3.5.8" of "OpenSSL 3.5.8 25 Aug 2026", else the name as well: "AWS-LC-1.30.0".
  std::istringstream words(evp->version());
  std::string name;
  std::string version;
  words >> name >> version;
  if (name != "OpenSSL" && !version.empty()) name += "-" + version;
  MemoryRival rival;
  rival.name = std::string(libcrypto_prefix) + (name == "OpenSSL" ? version : name);
  rival.library = rival.name;
  rival.make = [evp](const Job& job) { return std::make_unique<OpenSsl>(job, *evp); };
  rival.version = [evp] { return evp->version(); };
  return rival;
}

}  // namespace paraes::bench
