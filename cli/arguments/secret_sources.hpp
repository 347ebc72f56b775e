// The flags that say where keys, passphrases, recipients and identities come from.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "paraes/keys.hpp"

namespace paraes::cli {

// The use of a set of these flags.
enum class KeyRole {
  seal,      // to encrypt: recipients
  open,      // to decrypt: identities
  look,      // info: what opens the file, if anything is given: identities
  rekey_to,  // what rekey gives its files to: recipients; the flags begin with --to-
};

// The kind of secret that opens a message, or will open it.
enum class SecretKind { key, passphrase, recipients };

// The values of the flags that name secrets.
struct SecretSources {
  KeyRole role = KeyRole::open;
  std::set<std::string_view> flags_given;  // by their names in the table
  std::optional<std::string> key_file;
  std::optional<KeyEncoding> key_encoding;
  bool key_hex = false;  // see stash_key_hex
  std::optional<std::string> key_command;
  std::optional<std::string> passphrase_file;
  std::optional<int> passphrase_fd;
  std::optional<std::string> passphrase_env;
  std::optional<std::string> passphrase_command;
  bool ask = false;  // --to-passphrase
  std::vector<std::string> recipients;
  std::vector<std::string> recipients_files;
  std::vector<std::string> identities;

  // The flag with this name, such as "key-file", with dashes and --to-.
  [[nodiscard]] std::string flag(std::string_view name) const;
  // The flags that give secrets of a kind, or of all. Several recipients or identities are one.
  [[nodiscard]] std::vector<std::string> given(std::optional<SecretKind> kind = {}) const;
  // Without a source, the user is asked for a passphrase.
  [[nodiscard]] SecretKind kind() const;
  // The source that was given, for messages; "the terminal" without one.
  [[nodiscard]] std::string source() const;
  // The files that secrets, and recipients, which are public, are read from.
  struct File {
    std::string path;
    std::string flag;
    bool is_public = false;
  };
  [[nodiscard]] std::vector<File> files() const;
  // Whether a program is started: a command, or age.
  [[nodiscard]] bool starts_programs() const {
    return key_command || passphrase_command || !recipients.empty() || !recipients_files.empty() ||
           !identities.empty();
  }
  // Whether the user is asked for the secret.
  [[nodiscard]] bool asks() const { return ask || given().empty(); }
};

}  // namespace paraes::cli
