// Reads keys and passphrases from files, descriptors, the environment, commands and the terminal.
// Zeroises every copy that it makes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/cli11_fwd.hpp"
#include "paraes/io.hpp"
#include "paraes/secret.hpp"

namespace paraes::cli {

// Moves the digits of every `--key-hex DIGITS` out of the arguments, before CLI11 copies them, and
// overwrites them with x's. From then on, the process list shows the x's.
void stash_key_hex(int argc, char** argv);

struct KeyOptions {
  std::string key_file;
  std::string key_encoding;  // "raw", "hex" or empty: decided by size
  std::string key_hex;       // x's: see stash_key_hex
  std::string passphrase_file;
  std::optional<int> passphrase_fd;
  std::string passphrase_env;
  std::string passphrase_command;
  // The options, to find out which were given.
  CLI::Option* key_file_option = nullptr;
  CLI::Option* key_encoding_option = nullptr;
  CLI::Option* key_hex_option = nullptr;
  CLI::Option* passphrase_file_option = nullptr;
  CLI::Option* passphrase_env_option = nullptr;
  CLI::Option* passphrase_command_option = nullptr;
};

void add_key_options(CLI::App& verb, KeyOptions& options);

// Whether --key-file or --key-hex was given.
[[nodiscard]] bool has_key_source(const KeyOptions& options);

// For formats that take a key or a passphrase: throws InvalidArgument if more than one source is
// given.
void refuse_two_sources(const KeyOptions& options);

// Throws InvalidArgument unless exactly one key source and no passphrase is given, or if both key
// and data would come from standard input.
void check_key_source(const KeyOptions& options, std::string_view format, bool data_on_stdin);

// Throws InvalidArgument if there is a key source or more than one passphrase source, or if both
// passphrase and data would come from standard input. Without a source, the user is asked.
void check_passphrase_source(const KeyOptions& options, std::string_view format,
                             bool data_on_stdin);

// A file from which a key, keyset or passphrase is read.
struct SecretFile {
  FileId id;
  std::string flag;  // the flag that names it
  mode_t mode = 0;   // its permissions
};

// The existing files that the flags name, directly, through symbolic links, as standard input or as
// another descriptor. Pipes and terminals are not files.
[[nodiscard]] std::vector<SecretFile> secret_files(const KeyOptions& options);

// Warns of files whose mode lets every user read or change them. Those open to a group only are
// taken to be so on purpose.
void warn_of_open_files(const std::vector<SecretFile>& files);

// The use of a key decides which sizes it may have.
enum class KeyUse {
  block,     // 16, 24 or 32 bytes
  xts,       // 32 or 64: two halves
  segments,  // 16 or 32
};

// Reads the key, after check_key_source. Throws InvalidArgument for a wrong size or wrong digits,
// and IoError if the file cannot be read. `quiet`: omits the warning about --key-hex.
[[nodiscard]] SecretBytes load_key(const KeyOptions& options, KeyUse use, bool quiet);

// A key file that may be a Tink keyset, which is JSON.
struct KeyFile {
  SecretBytes contents;  // the whole file
  bool is_keyset = false;
  std::string name;  // for errors
};
[[nodiscard]] KeyFile read_key_or_keyset(const KeyOptions& options);

// Which bytes of a source are the passphrase.
enum class PassphraseRule {
  whole,    // all, without one final LF or CRLF
  openssl,  // as `openssl enc -pass`: those before the first LF; all of an environment variable
};

// Reads the passphrase, after check_passphrase_source. `confirm`: a prompt asks twice.
// `data_on_stdin`: --passphrase-command must not read standard input. Throws
// InvalidArgument for an empty one, and for one that `openssl enc` would cut.
[[nodiscard]] SecretBytes load_passphrase(const KeyOptions& options, PassphraseRule rule,
                                          bool confirm, bool data_on_stdin);

// Decodes the key file `name`, as docs/command-line.md describes under "Keys". For load_key.
[[nodiscard]] SecretBytes decode_key_file(SecretBytes contents, std::string_view name, KeyUse use,
                                          std::string_view encoding);

}  // namespace paraes::cli
