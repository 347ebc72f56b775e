// rekey: gives files to other keys, passphrases or recipients.

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/run/batch.hpp"
#include "cli/verbs/verbs.hpp"

namespace paraes::cli {
namespace {

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

}  // namespace

void add_rekey(CLI::App& app, int& status) {
  CLI::App* verb =
      app.add_subcommand("rekey", "Gives files to other keys, passphrases or recipients.");
  const auto options = std::make_shared<CryptOptions>();
  add_crypt_options(*verb, *options, Verb::rekey);
  verb->footer(std::string(rekey_text) + rekey_examples);
  verb->callback([options, &status] { status = run_batch(*options, Verb::rekey, nullptr); });
}

}  // namespace paraes::cli
