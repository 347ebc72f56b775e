#include <string_view>

#include "cli/app.hpp"
#include "cli/verbs.hpp"

namespace {

using namespace paraes::cli;

constexpr const char* footer = R"(
Examples:
  paraes encrypt backup.tar                   asks for a passphrase, writes backup.tar.paes
  paraes decrypt backup.tar.paes
  paraes keygen -o my.key
  paraes encrypt --key-file my.key -r photos
  paraes verify --key-file my.key -r photos
  paraes devices

`paraes VERB --help` says more about each verb.
Exit: 0 done, 1 I/O, device or internal error, 2 usage or refusal, 3 some of several files failed or
something could not be salvaged, 4 the data is not intact, 5 wrong key, passphrase or context, or a
damaged header, 130 and 143 ended by a signal, 141 closed pipe.)";

}  // namespace

int main(int argc, char** argv) {
  const ExecutableInfo executable = {
      .name = "paraes",
      .summary = "Encrypts and decrypts with AES, as fast as this machine can.",
      .footer = footer,
      .add_verbs =
          [](CLI::App& app, int& status) {
            add_encrypt(app, status, {});
            add_decrypt(app, status, {});
            add_verify(app, status, {});
            add_info(app, status);
            add_keygen(app, status);
            add_devices(app, status);
            add_bench(app, status, {});
            add_tune(app, status);
            add_lab(app);
          },
  };
  // Before the flags are parsed: those after `lab` belong to paraes-lab.
  if (argc > 1 && std::string_view(argv[1]) == "lab") return run_lab(argv + 2);
  return run_app(argc, argv, executable);
}
