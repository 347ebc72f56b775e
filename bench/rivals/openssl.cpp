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

class OpenSsl : public SplitRival<OpenSsl, EvpContext> {
 public:
  OpenSsl(const Job& job, const Evp& evp) : SplitRival(job, "openssl"), evp_(evp) { open_states(); }

  [[nodiscard]] EvpContext open_state(const std::uint8_t* key) const {
    return evp_.context(job(), key);
  }

  void set_key(const EvpContext& context, const std::uint8_t* key) const {
    evp_.restart(context.get(), nullptr, key);
  }

  void start(const EvpContext& context, const std::uint8_t* iv) const {
    evp_.restart(context.get(), iv);
  }

  void crypt(const EvpContext& context, const std::uint8_t* in, std::uint8_t* out,
             std::uint64_t bytes) const {
    evp_.update(context.get(), in, out, bytes);
  }

  void end(const EvpContext& context, std::uint8_t* tag) const {
    encrypts() ? evp_.get_tag(context.get(), tag) : evp_.check_tag(context.get(), tag);
  }

 private:
  const Evp& evp_;
};

}  // namespace

MemoryRival openssl_rival() {
  return {"openssl-evp", "openssl",
          [](const Job& job) { return std::make_unique<OpenSsl>(job, Evp::linked()); },
          [] { return OpenSSL_version(OPENSSL_VERSION_STRING); }};
}

MemoryRival open_libcrypto(const std::string& path) {
  const auto evp = std::make_shared<const Evp>(path);
  // "3.5.8" of "OpenSSL 3.5.8 25 Aug 2026", else the name as well: "AWS-LC-1.30.0".
  std::istringstream words(evp->version());
  std::string name;
  std::string version;
  words >> name >> version;
  if (name != "OpenSSL" && !version.empty()) name += "-" + version;
  name = std::string(libcrypto_prefix) + (name == "OpenSSL" ? version : name);
  return {name, name, [evp](const Job& job) { return std::make_unique<OpenSsl>(job, *evp); },
          [evp] { return evp->version(); }};
}

}  // namespace paraes::bench
