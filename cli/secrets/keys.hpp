// Reads keys and passphrases from files, descriptors, the environment, commands and the terminal.
// Zeroises every copy that it makes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/arguments/cli11_fwd.hpp"
#include "paraes/io.hpp"
#include "paraes/keys.hpp"
#include "paraes/secret.hpp"

namespace paraes::cli {

// Moves the digits of every `--key-hex DIGITS` and `--to-key-hex DIGITS` out of the arguments,
// before CLI11 copies them, and overwrites them with x's. From then on, the process list shows the
// x's.
void stash_key_hex(int argc, char** argv);

// The use of a set of flags.
enum class KeyRole {
  seal,      // to encrypt: recipients
  open,      // to decrypt: identities
  look,      // info: identities alone
  rekey_to,  // what rekey gives its files to: recipients; the flags begin with --to-
};

// The kind of secret that opens a message, or will open it.
enum class SecretKind { key, passphrase, recipients };

// The flags that say where keys, passphrases, recipients and identities come from.
struct KeyOptions {
  std::string key_file;
  std::string key_encoding;  // "raw", "hex" or empty: decided by size
  std::string key_hex;       // x's: see stash_key_hex
  std::string key_command;
  std::string passphrase_file;
  std::optional<int> passphrase_fd;
  std::string passphrase_env;
  std::string passphrase_command;
  bool ask = false;  // --to-passphrase
  std::vector<std::string> recipients;
  std::vector<std::string> recipients_files;
  std::vector<std::string> identities;

  KeyRole role = KeyRole::open;
  const CLI::App* verb = nullptr;

  // The flag with this name, such as "key-file", with dashes and --to-.
  [[nodiscard]] std::string flag(std::string_view name) const;
  // Whether it exists for the verb, and was given.
  [[nodiscard]] bool given(std::string_view name) const;
  // Without a source, the user is asked for a passphrase.
  [[nodiscard]] SecretKind kind() const;
  // The sources of secrets that were given, as flags. Several recipients or identities are one.
  [[nodiscard]] std::vector<std::string> sources() const;
  // The one that was given, for messages; "the terminal" without one.
  [[nodiscard]] std::string source() const;
  // Whether a program is started: a command, or age.
  [[nodiscard]] bool starts_programs() const {
    return !key_command.empty() || !passphrase_command.empty() || !recipients.empty() ||
           !recipients_files.empty() || !identities.empty();
  }
  // Whether the user is asked for the secret.
  [[nodiscard]] bool asks() const { return ask || sources().empty(); }
};

void add_key_options(CLI::App& verb, KeyOptions& options, KeyRole role);

// Which kinds of secrets a format takes.
struct SecretKinds {
  bool key = false;
  bool passphrase = false;
  bool recipients = false;
};

// Throws InvalidArgument if more than one source of secrets is given, one of a kind that the format
// does not take, or none where that takes no passphrase; if the data comes from standard input,
// too; and for names and recipients that are none.
void check_secret_source(const KeyOptions& options, std::string_view format, SecretKinds takes,
                         bool data_on_stdin);

// The flag that reads a secret from standard input; empty if none does.
[[nodiscard]] std::string secret_on_stdin(const KeyOptions& options);
// The same, whatever name standard input has (/dev/stdin).
[[nodiscard]] bool has_secret_on_stdin(const KeyOptions& options);

// Keeps the descriptors of this process that lead to the files and pipes that the flags name from
// programs that it starts. Call it before any is started.
void hide_descriptors(const KeyOptions& options);

// A file from which a key, keyset, passphrase, identity or recipients are read.
struct SecretFile {
  FileId id;
  std::string flag;        // the flag that names it
  mode_t mode = 0;         // its permissions
  bool is_public = false;  // it has recipients
};

// The existing files that the flags name, directly, through symbolic links, as standard input or as
// another descriptor. Pipes and terminals are not files.
[[nodiscard]] std::vector<SecretFile> secret_files(const KeyOptions& options);

// Warns of files whose mode lets every user read (unless they are public) or change them. Those
// open to a group only are taken to be so on purpose.
void warn_of_open_files(const std::vector<SecretFile>& files);

// How secrets are read.
struct SecretReading {
  bool quiet = false;                         // omit the warning about --key-hex
  bool stdin_is_taken = false;                // a command must not read standard input
  std::vector<std::string> hidden_variables;  // of the environment, which a command does not get
};

// Reads the key, after check_secret_source. Throws InvalidArgument for a wrong size or wrong
// digits, IoError if the file cannot be read, and Error if the command fails.
[[nodiscard]] SecretBytes load_key(const KeyOptions& options, KeyUse use,
                                   const SecretReading& reading);

// The contents of a file, or the output of a command: a key, or a Tink keyset, which is JSON.
struct KeyFile {
  SecretBytes contents;  // all of it
  bool is_keyset = false;
  std::string name;  // for errors
};
// For a key that is not --key-hex.
[[nodiscard]] KeyFile read_key_or_keyset(const KeyOptions& options, const SecretReading& reading);

// Which bytes of a source are the passphrase.
enum class PassphraseRule {
  whole,    // all, without one final LF or CRLF
  openssl,  // as `openssl enc -pass`: those before the first LF; all of an environment variable
};

// Reads the passphrase, after check_secret_source. A prompt asks twice for one that is to encrypt.
// Throws InvalidArgument for an empty one, and for one that `openssl enc` would cut.
[[nodiscard]] SecretBytes load_passphrase(const KeyOptions& options, PassphraseRule rule,
                                          const SecretReading& reading);

// decode_key, with the flags that help in the messages of its exceptions. For load_key.
[[nodiscard]] SecretBytes decode_key_file(SecretBytes contents, std::string_view name, KeyUse use,
                                          std::string_view encoding);

}  // namespace paraes::cli
