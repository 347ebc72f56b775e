#include "cli/verbs/verbs.hpp"

namespace paraes::cli {
namespace {

constexpr const char* paraes_footer = R"(
Examples:
  paraes encrypt backup.tar          asks for a passphrase
  paraes decrypt backup.tar.paes
  paraes keygen -o my.key
  paraes encrypt -k my.key -r photos
  paraes verify -k my.key -r photos
  tar c dir | paraes encrypt -k my.key > dir.tar.paes
  paraes devices

`paraes VERB --help` or `paraes help VERB` says more about each verb.

Exit status:
  0              done
  1              input/output, device or internal error
  2              usage or refusal, or nothing was found
  3              some of several files failed, or --salvage lost something
  4              the data is not intact
  5              wrong key, passphrase, identity or context, or a damaged header
  129, 130, 143  ended by SIGHUP, SIGINT or SIGTERM
  141            closed pipe)";

VerbEntry crypt_verb(Verb verb) {
  return {verb_name(verb), [verb](CLI::App& app, int& status, const NamedFlags& named) {
            add_crypt(app, status, named, verb, {});
          }};
}

// A verb with few flags, which are always built.
VerbEntry plain_verb(const char* name, const std::function<void(CLI::App&, int&)>& add,
                     bool has_secrets) {
  return {name, [add](CLI::App& app, int& status, const NamedFlags&) { add(app, status); },
          has_secrets};
}

}  // namespace

ExecutableInfo paraes_executable() {
  return {
      .name = "paraes",
      .summary = "Encrypts and decrypts with AES, as fast as this machine can.",
      .footer = paraes_footer,
      .verbs =
          {
              crypt_verb(Verb::encrypt),
              crypt_verb(Verb::decrypt),
              crypt_verb(Verb::verify),
              crypt_verb(Verb::rekey),
              {"info", add_info},
              plain_verb("keygen", add_keygen, true),
              plain_verb("devices", add_devices, false),
              plain_verb(
                  "bench", [](CLI::App& app, int& status) { add_bench(app, status, {}); }, false),
              plain_verb("tune", add_tune, false),
              plain_verb(
                  "lab", [](CLI::App& app, int&) { add_lab(app); }, false),
          },
  };
}

}  // namespace paraes::cli
