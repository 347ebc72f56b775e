// Recipients of paraes messages: public keys, and the identities (private keys) that fit them. The
// program `age` (age-encryption.org) does what needs them: age, rage, or another one with the same
// flags and file format. docs/formats.md describes the bytes under "kdf 2".
//
// A run draws a random run key, and has age encrypt it to the recipients: the age file. Each
// message has an input key of its own. Its slot holds that, sealed with the run key. The wrap of a
// message is the age file, followed by the slot. Sizes are in bytes.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "paraes/ciphers.hpp"
#include "paraes/export.hpp"
#include "paraes/known_secrets.hpp"
#include "paraes/messages.hpp"
#include "paraes/secret.hpp"

namespace paraes {

inline constexpr std::size_t run_key_bytes = 32;

// ---- The wrap ----

// The size of a slot, which is the end of a wrap: 104 for key_bits = 256, and 88 for 128.
[[nodiscard]] PARAES_EXPORT std::size_t slot_bytes(unsigned key_bits) noexcept;

// A line of an age file's header: it has the run key for one recipient.
struct AgeStanza {
  std::string type;  // "X25519", "ssh-ed25519"
  // For "ssh-ed25519" and "ssh-rsa", the first one is the tag of the key.
  std::vector<std::string> arguments;
};

// Parses the header of a binary age file (c2sp.org/age, version 1). Throws IntegrityError if it has
// another form, and for a stanza of the type scrypt: age would ask for a passphrase.
[[nodiscard]] PARAES_EXPORT std::vector<AgeStanza> parse_age_header(Bytes age_file);

// Throws IntegrityError as parse_age_header does, and if what follows the header is not of the size
// of an encrypted run key.
PARAES_EXPORT void check_run_key_file(Bytes age_file);

// The age file in the header of a message with Kdf::recipients, else InvalidArgument. header: at
// least the preface and the wrap. Throws IntegrityError if it is shorter, and as
// check_run_key_file does. The result refers to `header`.
[[nodiscard]] PARAES_EXPORT Bytes age_file_of(Bytes header);

// The wrap of a message with this preface, which has Kdf::recipients and which Preface::parse can
// return. run_key: run_key_bytes; input_key: preface.key_bits / 8. Else InvalidArgument.
[[nodiscard]] PARAES_EXPORT std::vector<std::uint8_t> make_wrap(const Preface& preface,
                                                                Bytes age_file, Bytes run_key,
                                                                Bytes input_key);

// The input key in the slot of a message with Kdf::recipients. header: at least the preface and the
// wrap; run_key: run_key_bytes. Else InvalidArgument. Throws WrongKey if the slot is not one of
// this run key and preface, and IntegrityError if it is damaged otherwise.
[[nodiscard]] PARAES_EXPORT SecretBytes open_slot(Bytes header, Bytes run_key);

// The header of the same message for other recipients. header: the present one, from
// read_paraes_header; wrap: one of this preface for the same input key. Throws InvalidArgument if
// the wrap has not preface.wrap_bytes bytes, the preface is not one of this message, or the header
// has another size than its own preface says; IntegrityError as Preface::parse does for that one.
[[nodiscard]] PARAES_EXPORT std::vector<std::uint8_t> header_with_wrap(Bytes header,
                                                                       const Preface& preface,
                                                                       Bytes wrap);

// ---- age ----

// How age is called. Secrets reach it through pipes; recipients and the names of files are
// arguments. It may ask for a passphrase or a PIN on the terminal.
struct AgeProgram {
  // A name is looked up in PATH; Unavailable if it is first found in a relative folder. Empty: the
  // environment variable PARAES_AGE, or "age".
  std::string name;
  // Called with lines that age wrote to standard error: when it has waited for a second, as for the
  // touch of a hardware key, and when it has succeeded. If it fails, they are in the exception.
  std::function<void(std::string_view line)> on_message;
  // Variables of the environment that age does not get.
  std::vector<std::string> hidden_variables;
  // Called with the process id of age when it has started, and with 0 when it has ended.
  std::function<void(pid_t process)> on_process;
};

// Whether a text has the marks of a private key of age or SSH, or of an age file with a
// passphrase, as identities are protected. In any case of letters, because age takes both.
[[nodiscard]] PARAES_EXPORT bool holds_private_key(std::string_view text) noexcept;

struct AgeRecipients {
  std::vector<std::string> keys;   // "age1…", "ssh-ed25519 AAAA…"
  std::vector<std::string> files;  // a key a line; "-" is InvalidArgument
};

// Has age encrypt `run_key` to the recipients. Returns the age file. Throws InvalidArgument if
// there are no recipients, if age refuses them, or if the result is too large for a wrap with a
// slot; Unavailable if there is no such program; IoError or Error if it cannot do its work.
[[nodiscard]] PARAES_EXPORT std::vector<std::uint8_t> encrypt_with_age(
    const AgeProgram& program, Bytes run_key, const AgeRecipients& recipients);

// A file whose name is passed to age, perhaps several times. Of one that can be read only once, or
// that has another meaning in another process (a pipe, a name in /dev), the contents are kept, and
// age gets them through a pipe.
class PARAES_EXPORT AgeInput {
 public:
  // Throws IoError if it cannot be read, and InvalidArgument for a folder, an empty pipe, and
  // one with more than 64 KiB.
  explicit AgeInput(std::string path);

  // The name that the constructor got.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  // Empty for a file that age can open itself.
  [[nodiscard]] const SecretBytes& contents() const noexcept { return contents_; }

 private:
  std::string path_;
  SecretBytes contents_;
};

// Files of identities. One caller at a time.
class PARAES_EXPORT AgeIdentities {
 public:
  // Throws InvalidArgument for "-" and if there are none, and IoError for a file that cannot be
  // read.
  explicit AgeIdentities(std::vector<std::string> files);

  // Has age decrypt an age file and returns the run key. Throws WrongKey with what age said if it
  // refuses; IntegrityError for a file that check_run_key_file refuses, and if age gives
  // anything but run_key_bytes bytes; Unavailable, IoError and Error as encrypt_with_age does.
  [[nodiscard]] SecretBytes decrypt(const AgeProgram& program, Bytes age_file) const;

  // Makes the identities known, as what `source` names. A file that cannot be read any more is left
  // out.
  void add_to(KnownSecrets& secrets, const std::string& source) const;

 private:
  std::vector<AgeInput> files_;
};

}  // namespace paraes
