// encrypt, decrypt, verify and rekey, which share their flags.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "cli/arguments/flags.hpp"
#include "cli/arguments/options.hpp"
#include "cli/plan/plan.hpp"
#include "cli/run/batch.hpp"
#include "cli/verbs/verbs.hpp"

namespace paraes::cli {
namespace {

constexpr const char* encrypt_text = R"(
Without a key or recipients, paraes asks for a passphrase. Without FILE it reads standard input,
unless that is a terminal.

Recipients are public keys of age or SSH: each of them can decrypt, with its identity (private key)
and `paraes decrypt -i`. They go with the format paraes, and need the program age.

The formats paraes, c2sp and tink are authenticated: decrypt rejects a file that was changed. The
formats raw and openssl are not: changes go unnoticed.

With several FILEs or -r, -o names a folder. --exclude '*.o' skips files by name, --exclude /sub/a
skips a path below the named folder, and --exclude cache/ skips folders. --files-from takes a list,
such as that of find -print0 with -0. --dry-run says what a run would do. A run never encrypts or
overwrites the files that hold its key or passphrase, not even with -f.

Sizes take K M G T or KiB MiB GiB TiB (binary), and kB MB GB TB (decimal). SIGUSR1 prints the progress.
)";
// paraes-mpi has its own, because it knows no descriptors but the standard ones.
constexpr const char* encrypt_examples = R"(
/dev/stdin, /dev/stdout, /dev/fd/3 and the shell's <(...) and >(...) are open descriptors, which are
read and written where they are. These, named pipes and devices need no -f.

Examples:
  paraes encrypt big.tar                 asks for a passphrase
  paraes encrypt --key-file my.key big.tar
  paraes encrypt --recipients-file team.txt big.tar
  paraes encrypt -r -k my.key -o backup photos letters
  paraes encrypt -r --rm -k my.key --exclude my.key .
  find photos -type f -print0 | paraes encrypt --files-from - -0 -k my.key -o backup
  tar c dir | paraes encrypt -k my.key > dir.tar.paes
  paraes encrypt --format tink -k keyset.json big.tar
  paraes encrypt --format raw --mode ctr -k my.key --iv-hex $IV big.bin)";

constexpr const char* decrypt_text = R"(
The formats paraes, c2sp and tink are authenticated: an output file appears only if the whole input
is intact. Pipes receive each segment once it is verified; check the exit status. In a pipeline such
as `paraes decrypt -c FILE | paraes encrypt`, only `set -o pipefail` shows that decrypt failed;
without it, a damaged file becomes a valid, shorter one. The formats raw and openssl are not
authenticated: changes go unnoticed.

--offset and --length decrypt a range of the plaintext, in the formats paraes, c2sp and tink: only
its segments are read and authenticated. They need a file as input, and not a pipe. Without --length
the range ends with the plaintext.

Sizes, also those of --offset and --length, take K M G (binary), KiB MiB GiB, and decimal kB MB GB.
Without FILE, standard input is read, unless it is a terminal.
)";
constexpr const char* decrypt_examples = R"(
-o /dev/stdout, -o /dev/fd/3 and the shell's >(...) write to open descriptors where they are. These,
named pipes and devices need no -f.

Examples:
  paraes decrypt big.tar.paes            asks for the passphrase
  paraes decrypt -i me.txt secrets.tar.paes
  paraes decrypt -k my.key < dir.tar.paes | tar x
  paraes decrypt -r -k my.key -o restored backup
  paraes decrypt -k my.key --offset 1MiB --length 64K -o part big.tar.paes
  paraes decrypt -k my.key --salvage damaged.paes
  paraes decrypt --format openssl --passphrase-file pw -o notes notes.enc)";

constexpr const char* verify_text = R"(
Authenticates whole files and writes nothing. Without FILE, standard input is read, unless it is a
terminal. The exit status is 0 if the files are intact, 4 if a file is not, 5 if the key, passphrase,
identity or context is wrong or the header is damaged, and 3 if some of several files failed.
)";
constexpr const char* verify_examples = R"(
Examples:
  paraes verify -k my.key big.tar.paes
  paraes verify -r -k my.key backup
  paraes verify -k my.key < big.tar.paes)";

constexpr const char* rekey_text = R"(
Replaces each FILE, in the format paraes, by the same data for other keys. A file whose keys,
header or length are wrong stays as it is. While it runs, a file takes its space twice.

From recipients to recipients, only the header changes, and the data is copied: --verify
authenticates it as well. Former recipients may have kept the file's key, and old copies of the file
still open for them; --new-key encrypts the data again. Any other change does that anyway, and
authenticates all data.

-k, --passphrase-file and the like, and -i, say what the files are encrypted with now; without them,
rekey asks for the passphrase.
)";
constexpr const char* rekey_examples = R"(
Examples:
  paraes rekey -i me.txt --to-recipients-file team.txt -r backup
  paraes rekey -i me.txt --to-recipient age1... --new-key secrets.tar.paes
  paraes rekey -k my.key --to-passphrase notes.txt.paes
  paraes rekey --passphrase-file old --to-passphrase-file new *.paes)";

int run_crypt(const CryptOptions& options) {
  begin_run();
  Reporting reporting;
  std::optional<Plan> plan;
  try {
    plan = make_plan(options, {.stdin_is_terminal = isatty(STDIN_FILENO) != 0}, reporting);
  } catch (const std::exception& error) {
    return refuse_run(reporting, error);
  }
  return run_batch(std::move(*plan), nullptr);
}

struct Texts {
  const char* summary;
  const char* text;
  const char* examples;
};
// The order is that of Verb.
constexpr std::array<Texts, 4> all_texts = {{
    {"Encrypts files or a pipe.", encrypt_text, encrypt_examples},
    {"Decrypts files or a pipe.", decrypt_text, decrypt_examples},
    {"Authenticates files and writes nothing.", verify_text, verify_examples},
    {"Gives files to other keys, passphrases or recipients.", rekey_text, rekey_examples},
}};

}  // namespace

void add_crypt(CLI::App& app, int& status, const NamedFlags& named, Verb verb,
               const CryptOverrides& overrides) {
  const Texts& texts = all_texts.at(static_cast<std::size_t>(verb));
  CLI::App* verb_app = app.add_subcommand(verb_name(verb), texts.summary);
  // Shared with the callback, which runs after this function has returned.
  const auto options = std::make_shared<CryptOptions>(verb);
  add_crypt_flags(*verb_app, *options, named);
  if (overrides.add_options) overrides.add_options(*verb_app);
  verb_app->footer(texts.text + (overrides.examples.empty() ? texts.examples : overrides.examples));
  verb_app->callback([options, &status, run = overrides.run] {
    status = run ? run(*options) : run_crypt(*options);
  });
}

}  // namespace paraes::cli
