// libgcrypt, with one handle for each thread and keys expanded beforehand.
#include "bench/rivals/rivals.hpp"
#include "bench/rivals/split.hpp"

#ifdef PARAES_HAVE_GCRYPT

#include <gcrypt.h>

#include "bench/harness/open_library.hpp"

namespace paraes::bench {
namespace {

struct GcryptFunctions {
  decltype(&gcry_check_version) check_version = nullptr;
  decltype(&gcry_control) control = nullptr;
  decltype(&gcry_cipher_open) open = nullptr;
  decltype(&gcry_cipher_close) close = nullptr;
  decltype(&gcry_cipher_setkey) set_key = nullptr;
  decltype(&gcry_cipher_setiv) set_iv = nullptr;
  decltype(&gcry_cipher_setctr) set_counter = nullptr;
  decltype(&gcry_cipher_encrypt) encrypt = nullptr;
  decltype(&gcry_cipher_decrypt) decrypt = nullptr;
  decltype(&gcry_cipher_gettag) get_tag = nullptr;
  decltype(&gcry_cipher_checktag) check_tag = nullptr;
  decltype(&gcry_cipher_ctl) cipher_control = nullptr;
  decltype(&gcry_strerror) error_text = nullptr;

  GcryptFunctions() {
    const DynamicLibrary library = open_library("libgcrypt.so.20");
    find_function(library, check_version, "gcry_check_version");
    find_function(library, control, "gcry_control");
    find_function(library, open, "gcry_cipher_open");
    find_function(library, close, "gcry_cipher_close");
    find_function(library, set_key, "gcry_cipher_setkey");
    find_function(library, set_iv, "gcry_cipher_setiv");
    find_function(library, set_counter, "gcry_cipher_setctr");
    find_function(library, encrypt, "gcry_cipher_encrypt");
    find_function(library, decrypt, "gcry_cipher_decrypt");
    find_function(library, get_tag, "gcry_cipher_gettag");
    find_function(library, check_tag, "gcry_cipher_checktag");
    find_function(library, cipher_control, "gcry_cipher_ctl");
    find_function(library, error_text, "gcry_strerror");
    if (check_version(nullptr) == nullptr) throw Skip("libgcrypt cannot be initialised");
    control(GCRYCTL_DISABLE_SECMEM, 0);
    control(GCRYCTL_INITIALIZATION_FINISHED, 0);
  }
};

const GcryptFunctions& functions() {
  static const GcryptFunctions table;
  return table;
}

void check(gcry_error_t error) {
  if (error != 0)
    throw std::runtime_error(std::string("libgcrypt: ") + functions().error_text(error));
}

struct CloseHandle {
  void operator()(gcry_cipher_hd_t handle) const { functions().close(handle); }
};
using Handle = std::unique_ptr<std::remove_pointer_t<gcry_cipher_hd_t>, CloseHandle>;

Handle open_handle(const Job& job, const std::uint8_t* key = material().key.data()) {
  static constexpr int modes[] = {GCRY_CIPHER_MODE_ECB, GCRY_CIPHER_MODE_CBC, GCRY_CIPHER_MODE_CTR,
                                  GCRY_CIPHER_MODE_XTS, GCRY_CIPHER_MODE_GCM};
  static constexpr int ciphers[] = {GCRY_CIPHER_AES128, GCRY_CIPHER_AES192, GCRY_CIPHER_AES256};
  gcry_cipher_hd_t raw = nullptr;
  check(functions().open(&raw, ciphers[(job.key_bits - 128) / 64],
                         modes[static_cast<unsigned>(job.mode.value())], 0));
  Handle handle(raw);
  check(functions().set_key(raw, key, key_bytes(job)));
  return handle;
}

class Gcrypt : public Implementation {
 public:
  explicit Gcrypt(const Job& job) : job_(job), split_(job, "gcrypt") {
    if (job.mode == Mode::xts && job.key_bits == 192) {
      throw Skip("XTS has no AES-192 (SP 800-38E section 3)");
    }
    for (std::uint64_t s = 0; s < split_.key_states(); ++s) {
      handles_.push_back(open_handle(job, split_.key_of(s).data()));
    }
    spare_ = open_handle(job);
  }

  void run(const std::uint8_t* in, std::uint8_t* out, std::uint8_t* tag) override {
    const GcryptFunctions& f = functions();
    if (job_.mode == Mode::gcm) {
      split_.each_message(in, out, tag, [&](unsigned r, const Split::GcmMessage& message) {
        gcm(handles_[split_.state_of(r, message)].get(), message);
      });
      return;
    }
    split_.run(in, [&](unsigned r, std::uint64_t from, std::uint64_t bytes,
                       const std::uint8_t* iv) {
      const gcry_cipher_hd_t handle = handles_[r].get();
      switch (job_.mode.value()) {
        case Mode::ecb:
          crypt(handle, in + from, out + from, bytes);
          break;
        case Mode::cbc:
          check(f.set_iv(handle, iv, 16));
          crypt(handle, in + from, out + from, bytes);
          break;
        case Mode::ctr:
          check(f.set_counter(handle, iv, 16));
          crypt(handle, in + from, out + from, bytes);
          break;
        case Mode::xts:
          split_.each_unit(from, bytes, [&](const auto& tweak, std::uint64_t at, std::size_t size) {
            check(f.set_iv(handle, tweak.data(), tweak.size()));
            crypt(handle, in + at, out + at, size);
          });
          break;
        case Mode::gcm:
          break;
      }
    });
  }

  bool expand_key() override {
    check(functions().set_key(spare_.get(), material().key.data(), key_bytes(job_)));
    return true;
  }

 private:
  void gcm(gcry_cipher_hd_t handle, const Split::GcmMessage& message) const {
    const GcryptFunctions& f = functions();
    check(f.set_iv(handle, message.nonce, 12));
    crypt(handle, message.in, message.out, message.bytes);
    check(job_.direction == Direction::encrypt ? f.get_tag(handle, message.tag, 16)
                                               : f.check_tag(handle, message.tag, 16));
  }

  void crypt(gcry_cipher_hd_t handle, const std::uint8_t* in, std::uint8_t* out,
             std::uint64_t bytes) const {
    const auto function =
        job_.direction == Direction::encrypt ? functions().encrypt : functions().decrypt;
    // For work in place, libgcrypt expects a null input.
    const bool same = in == out;
    check(function(handle, out, bytes, same ? nullptr : in, same ? 0 : bytes));
  }

  Job job_;
  Split split_;
  std::vector<Handle> handles_;
  Handle spare_;
};

}  // namespace

std::unique_ptr<Implementation> make_gcrypt(const Job& job) {
  return std::make_unique<Gcrypt>(job);
}

std::string gcrypt_version() {
  try {
    return functions().check_version(nullptr);
  } catch (const Skip&) {
    return {};
  }
}

}  // namespace paraes::bench

#else

namespace paraes::bench {

std::unique_ptr<Implementation> make_gcrypt(const Job& /*job*/) {
  throw Skip("built without the headers of libgcrypt");
}

std::string gcrypt_version() { return {}; }

}  // namespace paraes::bench

#endif
