// encrypt, decrypt and verify: the same flags and the same way, in either direction.

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/batch.hpp"
#include "cli/verbs.hpp"

namespace paraes::cli {
namespace {

constexpr const char* encrypt_footer = R"(
Without a key, asks for a passphrase. The formats paraes, c2sp and tink are authenticated:
decrypting gives back the file or nothing. raw and openssl notice no change to the data.
With several FILEs or -r, -o is a folder. --exclude *.o leaves out names, --exclude /sub/a a path
below the folder that was named, --exclude cache/ folders. The file of the key is never encrypted
or overwritten, not even with -f. Sizes take K M G (binary), KiB MiB GiB, and decimal kB MB GB.
SIGUSR1 prints how far a run has come.

Examples:
  paraes encrypt big.tar                            asks twice, writes big.tar.paes
  paraes encrypt --key-file my.key big.tar
  paraes encrypt -r --key-file my.key -o backup photos letters
  paraes encrypt -r --rm --key-file my.key --exclude my.key .
  tar c dir | paraes encrypt --key-file my.key - > dir.tar.paes
  paraes encrypt --format tink --key-file keyset.json big.tar
  paraes encrypt --format raw --mode ctr --key-file my.key --iv-hex $IV big.bin)";

constexpr const char* decrypt_footer = R"(
The formats paraes, c2sp and tink are authenticated: a file appears only if all of it is intact. A
pipe receives each segment once it is verified: check the exit status. In a pipe to another command
(paraes decrypt -c FILE | paraes encrypt -) only `set -o pipefail` shows that decrypt failed; without
it a damaged file becomes a valid, shorter one. raw and openssl notice no change to the data. Sizes take K M G (binary), KiB MiB GiB, and decimal kB MB GB.

Examples:
  paraes decrypt big.tar.paes                       asks, writes big.tar
  paraes decrypt --key-file my.key - < dir.tar.paes | tar x
  paraes decrypt --key-file my.key --offset 1GiB --length 1MiB -o part big.tar.paes
  paraes decrypt --key-file my.key --salvage damaged.paes
  paraes decrypt --format openssl --passphrase-file pw -o notes.txt notes.enc)";

constexpr const char* verify_footer = R"(
Reads and authenticates everything and writes nothing: exit 0 if the files are intact, 4 if not, 5
if the key, passphrase or context is wrong.

Examples:
  paraes verify --key-file my.key big.tar.paes
  paraes verify -r --key-file my.key backup)";

void add_verb(CLI::App& app, int& status, const CryptProgram& program, Verb verb, const char* what,
              const char* footer) {
  CLI::App* verb_app = app.add_subcommand(verb_name(verb), what);
  // Shared with the callback, which runs while the parser still lives.
  const auto options = std::make_shared<CryptOptions>();
  add_crypt_options(*verb_app, *options, verb);
  if (program.add_options) program.add_options(*verb_app);
  verb_app->footer(footer);
  verb_app->callback([options, verb, &status, run = program.run] {
    options->output.path_given = options->given("--output");
    status = run ? run(*options, verb) : run_batch(*options, verb, nullptr);
  });
}

}  // namespace

void add_encrypt(CLI::App& app, int& status, const CryptProgram& program) {
  add_verb(app, status, program, Verb::encrypt, "Encrypts files or a pipe.", encrypt_footer);
}

void add_decrypt(CLI::App& app, int& status, const CryptProgram& program) {
  add_verb(app, status, program, Verb::decrypt, "Decrypts files or a pipe.", decrypt_footer);
}

void add_verify(CLI::App& app, int& status, const CryptProgram& program) {
  add_verb(app, status, program, Verb::verify, "Authenticates files, and writes nothing.",
           verify_footer);
}

}  // namespace paraes::cli
