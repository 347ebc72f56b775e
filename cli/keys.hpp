// Where keys and passphrases come from: files, descriptors, the environment, commands, the
// terminal. Every copy made here is zeroised.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/cli11_fwd.hpp"
#include "paraes/io.hpp"
#include "paraes/secret.hpp"

namespace paraes::cli {

// Takes the digits of every `--key-hex DIGITS` out of the arguments, before CLI11 copies them, and
// leaves x's, which is also what the process list shows from then on.
void stash_key_hex(int argc, char** argv);

struct KeyOptions {
  std::string key_file;
  std::string key_encoding;  // "raw", "hex" or empty: decided by size
  std::string key_hex;       // x's: see stash_key_hex
  std::string passphrase_file;
  std::optional<int> passphrase_fd;
  std::string passphrase_env;
  std::string passphrase_command;
  // The options themselves, to tell which were given.
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

// Throws InvalidArgument unless exactly one key source is given, no passphrase, and standard input
// is not wanted for both key and data.
void check_key_source(const KeyOptions& options, std::string_view format, bool data_on_stdin);

// The same for passphrases, of which none may be given: then the terminal is asked.
void check_passphrase_source(const KeyOptions& options, std::string_view format,
                             bool data_on_stdin);

// A file from which a key, keyset or passphrase is to be read.
struct SecretFile {
  FileId id;
  std::string flag;  // that names it
};

// Those that the flags name and that are there, links followed, standard input and other
// descriptors too. What is read from a pipe or a terminal is none.
[[nodiscard]] std::vector<SecretFile> secret_files(const KeyOptions& options);

// What a key is for, which decides its sizes.
enum class KeyUse {
  block,     // 16, 24 or 32 bytes
  xts,       // 32 or 64: two halves
  segments,  // 16 or 32
};

// The key, after check_key_source. Throws InvalidArgument for a key of a wrong size or spelling,
// IoError if it cannot be read. `quiet`: without the warning for --key-hex.
[[nodiscard]] SecretBytes load_key(const KeyOptions& options, KeyUse use, bool quiet);

// A key file that may be a Tink keyset, which is text in braces.
struct KeyFile {
  SecretBytes contents;  // the whole of it
  bool is_keyset = false;
  std::string name;  // for errors
};
[[nodiscard]] KeyFile read_key_or_keyset(const KeyOptions& options);

// The passphrase, after check_passphrase_source. `confirm`: a prompt asks twice. `data_on_stdin`:
// a command must not read standard input.
[[nodiscard]] SecretBytes load_passphrase(const KeyOptions& options, bool confirm,
                                          bool data_on_stdin);

// Reads the key bytes that `contents` of `name` stands for; see DESIGN, "Keys". For load_key.
[[nodiscard]] SecretBytes decode_key_file(SecretBytes contents, std::string_view name, KeyUse use,
                                          std::string_view encoding);

}  // namespace paraes::cli
