// encrypt, decrypt and verify, which share their flags.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/batch.hpp"
#include "cli/verbs.hpp"

namespace paraes::cli {
namespace {

constexpr const char* encrypt_footer = R"(
Without a key, paraes asks for a passphrase.
The formats paraes, c2sp and tink are authenticated: decrypt rejects a file that was changed. The
formats raw and openssl are not: changes go unnoticed.
With several FILEs or -r, -o names a folder. --exclude '*.o' skips files by name, --exclude /sub/a
skips a path below the named folder, and --exclude cache/ skips folders. A run never encrypts or
overwrites the files that hold its key or passphrase, not even with -f.
Sizes take K M G (binary), KiB MiB GiB, and decimal kB MB GB. SIGUSR1 prints the progress.

Examples:
  paraes encrypt big.tar                            asks for a passphrase, writes big.tar.paes
  paraes encrypt --key-file my.key big.tar
  paraes encrypt -r --key-file my.key -o backup photos letters
  paraes encrypt -r --rm --key-file my.key --exclude my.key .
  tar c dir | paraes encrypt --key-file my.key - > dir.tar.paes
  paraes encrypt --format tink --key-file keyset.json big.tar
  paraes encrypt --format raw --mode ctr --key-file my.key --iv-hex $IV big.bin)";

constexpr const char* decrypt_footer = R"(
The formats paraes, c2sp and tink are authenticated: an output file appears only if the whole input
is intact. Pipes receive each segment once it is verified; check the exit status. In a pipeline such
as `paraes decrypt -c FILE | paraes encrypt -`, only `set -o pipefail` shows that decrypt failed;
without it, a damaged file becomes a valid, shorter one.
The formats raw and openssl are not authenticated: changes go unnoticed.
Sizes take K M G (binary), KiB MiB GiB, and decimal kB MB GB.

Examples:
  paraes decrypt big.tar.paes                       asks for the passphrase, writes big.tar
  paraes decrypt --key-file my.key - < dir.tar.paes | tar x
  paraes decrypt --key-file my.key --offset 1GiB --length 1MiB -o part big.tar.paes
  paraes decrypt --key-file my.key --salvage damaged.paes
  paraes decrypt --format openssl --passphrase-file pw -o notes.txt notes.enc)";

constexpr const char* verify_footer = R"(
Authenticates whole files and writes nothing. The exit status is 0 if the files are intact, 4 if a
file is not, 5 if the key, passphrase or context is wrong or the header is damaged, and 3 if some of
several files failed.

Examples:
  paraes verify --key-file my.key big.tar.paes
  paraes verify -r --key-file my.key backup)";

void add_verb(CLI::App& app, int& status, const CryptOverrides& overrides, Verb verb,
              const char* summary, const char* footer) {
  CLI::App* verb_app = app.add_subcommand(verb_name(verb), summary);
  // Shared with the callback, which runs after this function has returned.
  const auto options = std::make_shared<CryptOptions>();
  add_crypt_options(*verb_app, *options, verb);
  if (overrides.add_options) overrides.add_options(*verb_app);
  verb_app->footer(footer);
  verb_app->callback([options, verb, &status, run = overrides.run] {
    options->output.path_given = options->given("--output");
    default_to_standard_input(*options, isatty(STDIN_FILENO) != 0);
    status = run ? run(*options, verb) : run_batch(*options, verb, nullptr);
  });
}

}  // namespace

void add_encrypt(CLI::App& app, int& status, const CryptOverrides& overrides) {
  add_verb(app, status, overrides, Verb::encrypt, "Encrypts files or a pipe.", encrypt_footer);
}

void add_decrypt(CLI::App& app, int& status, const CryptOverrides& overrides) {
  add_verb(app, status, overrides, Verb::decrypt, "Decrypts files or a pipe.", decrypt_footer);
}

void add_verify(CLI::App& app, int& status, const CryptOverrides& overrides) {
  add_verb(app, status, overrides, Verb::verify, "Authenticates files and writes nothing.",
           verify_footer);
}

}  // namespace paraes::cli
