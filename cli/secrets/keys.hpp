// Reads keys and passphrases from files, descriptors, the environment, commands and the terminal.
// Zeroises every copy that it makes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/arguments/secret_sources.hpp"
#include "paraes/keys.hpp"
#include "paraes/secret.hpp"

namespace paraes::cli {

// Keeps the descriptors of this process that lead to the files and pipes that the flags name from
// programs that it starts. Call it before any is started.
void hide_descriptors(const SecretSources& sources);

// How secrets are read.
struct SecretReading {
  bool quiet = false;                         // omit the warning about --key-hex
  bool stdin_is_taken = false;                // a command must not read standard input
  std::vector<std::string> hidden_variables;  // of the environment, which a command does not get
};

// Reads the key, after make_plan. Throws InvalidArgument for a wrong size or wrong
// digits, IoError if the file cannot be read, and Error if the command fails.
[[nodiscard]] SecretBytes load_key(const SecretSources& sources, KeyUse use,
                                   const SecretReading& reading);

// The contents of a file, or the output of a command: a key, or a Tink keyset, which is JSON.
struct KeyFile {
  SecretBytes contents;  // all of it
  bool is_keyset = false;
  std::string name;  // for errors
};
// Reads a key that is not --key-hex.
[[nodiscard]] KeyFile read_key_or_keyset(const SecretSources& sources,
                                         const SecretReading& reading);

// Runs `command` with /bin/sh and returns what it printed. `flag`: names it in errors. `kind`:
// "key". Throws InvalidArgument if it printed more than `most` bytes, and Error if it failed.
[[nodiscard]] SecretBytes output_of_command(const std::string& command, const std::string& flag,
                                            std::string_view kind, std::size_t most,
                                            const SecretReading& how);

// Which bytes of a source are the passphrase.
enum class PassphraseRule {
  whole,    // all, without one final LF or CRLF
  openssl,  // as `openssl enc -pass`: those before the first LF; all of an environment variable
};

// Reads the passphrase, after make_plan. A prompt asks twice for one that is to encrypt.
// Throws InvalidArgument for an empty one, and for one that `openssl enc` would cut.
[[nodiscard]] SecretBytes load_passphrase(const SecretSources& sources, PassphraseRule rule,
                                          const SecretReading& reading);

// decode_key, with the flags that help in the messages of its exceptions. For load_key.
[[nodiscard]] SecretBytes decode_key_file(SecretBytes contents, std::string_view name, KeyUse use,
                                          std::optional<KeyEncoding> encoding);

}  // namespace paraes::cli
