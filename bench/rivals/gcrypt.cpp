// libgcrypt, with one handle for each thread and keys expanded beforehand.
#include "bench/rivals/rivals.hpp"
#include "bench/rivals/split.hpp"

#ifdef PARAES_HAVE_GCRYPT

#include <gcrypt.h>

#include "bench/harness/open_library.hpp"

namespace paraes::bench {
namespace {

struct GcryptFunctions {
  DynamicLibrary library = open_library("libgcrypt.so.20");
  decltype(&gcry_check_version) check_version = LibraryFunction{library, "gcry_check_version"};
  decltype(&gcry_control) control = LibraryFunction{library, "gcry_control"};
  decltype(&gcry_cipher_open) open = LibraryFunction{library, "gcry_cipher_open"};
  decltype(&gcry_cipher_close) close = LibraryFunction{library, "gcry_cipher_close"};
  decltype(&gcry_cipher_setkey) set_key = LibraryFunction{library, "gcry_cipher_setkey"};
  decltype(&gcry_cipher_setiv) set_iv = LibraryFunction{library, "gcry_cipher_setiv"};
  decltype(&gcry_cipher_setctr) set_counter = LibraryFunction{library, "gcry_cipher_setctr"};
  decltype(&gcry_cipher_encrypt) encrypt = LibraryFunction{library, "gcry_cipher_encrypt"};
  decltype(&gcry_cipher_decrypt) decrypt = LibraryFunction{library, "gcry_cipher_decrypt"};
  decltype(&gcry_cipher_gettag) get_tag = LibraryFunction{library, "gcry_cipher_gettag"};
  decltype(&gcry_cipher_checktag) check_tag = LibraryFunction{library, "gcry_cipher_checktag"};
  decltype(&gcry_strerror) error_text = LibraryFunction{library, "gcry_strerror"};

  GcryptFunctions() {
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

class Gcrypt : public SplitRival<Gcrypt, Handle> {
 public:
  explicit Gcrypt(const Job& job) : SplitRival(job, "gcrypt") { open_states(); }

  [[nodiscard]] Handle open_state(const std::uint8_t* key) const {
    static constexpr int modes[] = {GCRY_CIPHER_MODE_ECB, GCRY_CIPHER_MODE_CBC,
                                    GCRY_CIPHER_MODE_CTR, GCRY_CIPHER_MODE_XTS,
                                    GCRY_CIPHER_MODE_GCM};
    static constexpr int ciphers[] = {GCRY_CIPHER_AES128, GCRY_CIPHER_AES192, GCRY_CIPHER_AES256};
    gcry_cipher_hd_t raw = nullptr;
    check(functions().open(&raw, ciphers[(job().key_bits - 128) / 64],
                           modes[static_cast<unsigned>(job().mode.value())], 0));
    Handle handle(raw);
    set_key(handle, key);
    return handle;
  }

  void set_key(const Handle& handle, const std::uint8_t* key) const {
    check(functions().set_key(handle.get(), key, key_bytes(job())));
  }

  void start(const Handle& handle, const std::uint8_t* iv) const {
    const auto set = job().mode == Mode::ctr ? functions().set_counter : functions().set_iv;
    check(set(handle.get(), iv, job().mode == Mode::gcm ? 12 : 16));
  }

  void crypt(const Handle& handle, const std::uint8_t* in, std::uint8_t* out,
             std::uint64_t bytes) const {
    const auto function = encrypts() ? functions().encrypt : functions().decrypt;
    // For work in place, libgcrypt expects a null input.
    const bool same = in == out;
    check(function(handle.get(), out, bytes, same ? nullptr : in, same ? 0 : bytes));
  }

  void end(const Handle& handle, std::uint8_t* tag) const {
    check(encrypts() ? functions().get_tag(handle.get(), tag, 16)
                     : functions().check_tag(handle.get(), tag, 16));
  }
};

std::string gcrypt_version() try {
  return functions().check_version(nullptr);
} catch (const Skip&) {
  return {};
}

}  // namespace

MemoryRival gcrypt_rival() {
  return {"gcrypt", "gcrypt", [](const Job& job) { return std::make_unique<Gcrypt>(job); },
          gcrypt_version};
}

}  // namespace paraes::bench

#else

paraes::bench::MemoryRival paraes::bench::gcrypt_rival() {
  return absent_rival("gcrypt", "built without the headers of libgcrypt");
}

#endif
