// Where the keys of a call come from, and the messages that they make and open.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "paraes/io.hpp"
#include "paraes/keys.hpp"
#include "paraes/known_secrets.hpp"
#include "paraes/messages.hpp"
#include "paraes/recipients.hpp"
#include "python/native/common.hpp"

namespace paraes::python {

// The use of the secrets, which decides the names that are allowed.
enum class Role {
  seal,      // recipients
  open,      // identities
  rekey_to,  // recipients; the names begin with to_
};

enum class Format { paraes, c2sp, tink };

class Secrets {
 public:
  // Takes what it knows from `options`: names and values of keyword arguments. A name that nobody
  // has taken is a TypeError of check_all_taken. Needs the GIL; copies every value.
  Secrets(const nb::dict& options, Role role);

  [[nodiscard]] bool to_recipients() const noexcept { return kdf_ == Kdf::recipients; }

  // The following do not need the GIL, and may take long: scrypt runs, or age, which may ask for
  // something. Any number of threads.

  [[nodiscard]] Message::Parts new_message() const;

  struct Opened {
    Preface preface;
    SecretBytes input_key;  // of a message with recipients
    Message::Parts parts;
  };
  // Reads the header of a message from the start of `source`.
  [[nodiscard]] Opened open_header(Source& source) const;
  // The header of the message `old`, which has recipients, for these recipients.
  [[nodiscard]] std::vector<std::uint8_t> header_for_recipients(const Opened& old) const;

  // Throws InvalidArgument if a secret is read from the file with this status. `shown`: its name.
  void check_not_secret(const struct stat& status, const std::string& shown) const;
  // Throws InvalidArgument if the file at `path`, which would be replaced, holds one of the
  // secrets.
  void check_contents(const std::string& path) const;

  // Ends age, if it runs now: open_header or new_message then throws.
  void cancel() const noexcept;

 private:
  [[nodiscard]] std::string name(const char* plain) const;
  void take_key(const std::string& option);
  void take_passphrase(nb::handle value);
  void take_format(const nb::dict& options, bool with_passphrase);
  void add_secret_file(const std::string& path, const char* option);
  void check_kind(const Preface& preface) const;
  [[nodiscard]] Preface wrap(Bytes input_key, std::vector<std::uint8_t>& wrap) const;
  [[nodiscard]] AgeProgram age() const;

  struct SecretFile {
    FileId id;
    std::string option;
  };

  Role role_;
  Kdf kdf_ = Kdf::none;  // of the secret that is given
  Format format_ = Format::paraes;
  TinkParameters tink_;
  unsigned key_bits_ = 0;  // 0: not given
  unsigned scrypt_log2n_ = default_scrypt_log2n;
  unsigned max_scrypt_log2n_ = paraes::max_scrypt_log2n;
  SecretBytes key_;
  SecretBytes passphrase_;
  std::vector<std::uint8_t> context_;
  AgeRecipients recipients_;
  std::optional<AgeIdentities> identities_;
  std::vector<SecretFile> files_;
  KnownSecrets known_;
  mutable std::mutex process_mutex_;
  mutable pid_t process_ = 0;  // of age
  mutable bool cancelled_ = false;
};

// Raises TypeError if `options` still has a name: no such argument exists.
void check_all_taken(const nb::dict& options, const char* function);

// Removes `name` from `options` and returns its value; nothing if it is not there or None.
[[nodiscard]] nb::object take_option(const nb::dict& options, const char* name);

// Empties a dictionary of keyword arguments when it goes: tracebacks show no secrets.
class ForgottenOptions {
 public:
  explicit ForgottenOptions(nb::dict options) : options_(std::move(options)) {}
  ~ForgottenOptions() { options_.clear(); }
  ForgottenOptions(const ForgottenOptions&) = delete;
  ForgottenOptions& operator=(const ForgottenOptions&) = delete;

 private:
  nb::dict options_;
};

// threads, device, kernel.
[[nodiscard]] Execution take_where(const nb::dict& options);

// The keyword arguments of a call: where it computes, and its secrets. They are forgotten when it
// ends. Throws TypeError, which names the function, if there is an argument that nobody takes.
struct Call {
  Call(const Options& options, Role role, const char* function)
      : forgotten(options), where(take_where(options)), use(where), secrets(options, role) {
    check_all_taken(options, function);
  }

  ForgottenOptions forgotten;
  Execution where;
  DeviceUse use;
  Secrets secrets;
};

// Whether it is a str, bytes or os.PathLike, which name a file.
[[nodiscard]] bool is_path(nb::handle object);
// The path that it names.
[[nodiscard]] std::string path_of(nb::handle object);

}  // namespace paraes::python
